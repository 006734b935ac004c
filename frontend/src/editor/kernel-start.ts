/** Where the kernel itself begins in a generated text: what stands above it (includes, helpers) is read less often. */

const KERNEL = /^(static void program_|class Kc|(extern "C" )?__global__)/m;

/** The offset of the first kernel with the comment lines right above it; 0 when the text has no such line. */
export function kernelStart(text: string): number {
  let at = Math.max(0, text.search(KERNEL));
  while (at > 0) {
    const before = text.lastIndexOf("\n", at - 2) + 1;
    if (!/^\s*(\/\/|\/\*.*\*\/\s*$)/.test(text.slice(before, at - 1))) break;
    at = before;
  }
  return at;
}
