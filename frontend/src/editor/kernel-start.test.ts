import { expect, test } from "vitest";
import { kernelStart } from "./kernel-start";

const first = (text: string) => text.slice(kernelStart(text)).split("\n", 1)[0];

test("C opens at its first program, not at the launcher", () => {
  const text =
    "/* head */\n#include <x.h>\n\nstatic int helper(void) {}\n\nstatic void program_k0(void) {\n}\nint kernel(void) {}\n";
  expect(first(text)).toBe("static void program_k0(void) {");
});

test("CUDA opens at the kernel, past the helpers", () => {
  const text =
    '#include <x>\nstatic __device__ int kc(int a);\n\nextern "C" __global__ void __launch_bounds__(128)\nk0(int a) {}\n';
  expect(first(text)).toBe('extern "C" __global__ void __launch_bounds__(128)');
});

test("Ascend C opens at the class, with the comment above it", () => {
  const text =
    '#include <x>\nnamespace {\n\n/// row: 2 blocks\nclass KcKernelCore {\n};\n}\nextern "C" __global__ __aicore__ void k() {}\n';
  expect(first(text)).toBe("/// row: 2 blocks");
});

test("a text without a kernel opens at its top", () => {
  expect(kernelStart("int x;\n")).toBe(0);
});
