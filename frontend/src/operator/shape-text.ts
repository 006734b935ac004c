/** What a person writes for a shape, in the forms that the command line takes: `4096x1024:f32`, `(4096, 1024)`, `512*512`. */
import type { MessageKey } from "../i18n";

export const DTYPES = "f64 f32 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool f8e4m3 f8e5m2 i4 u4".split(" ");
const LARGEST = 2 ** 40;

export type ShapeReading =
  | { shape: string }
  | { problem: MessageKey; values: Record<string, string | number> };

const refused = (problem: MessageKey, values: Record<string, string | number> = {}): ShapeReading => ({
  problem,
  values,
});

/** The canonical form, or why there is none; a missing element type is `dtype`. */
export function readShape(text: string, dtype: string): ShapeReading {
  const [written = "", type, more] = text.trim().split(":");
  const wanted = type?.trim() || dtype;
  if (more !== undefined) return refused("shapes.invalid");
  if (!DTYPES.includes(wanted)) return refused("shapes.dtype", { dtype: wanted, known: DTYPES.join(" ") });
  const body = written
    .trim()
    .replace(/^[[(]\s*/, "")
    .replace(/\s*,?\s*[\])]$/, "")
    .trim();
  if (/^scalar$/i.test(body) || /^\(\s*\)$|^\[\s*\]$/.test(written.trim()))
    return { shape: `scalar:${wanted}` };
  if (DTYPES.includes(body) && type === undefined) return { shape: `scalar:${body}` };
  if (body === "") return refused("shapes.invalid");
  const sizes = body.split(/\s*[x×*,]\s*|\s+/i);
  for (const size of sizes) {
    if (size === "") return refused("shapes.missing");
    if (!/^\d+$/.test(size)) return refused("shapes.not_a_size", { size });
    if (Number(size) > LARGEST) return refused("shapes.too_large", { size });
  }
  return { shape: `${sizes.map((size) => Number(size)).join("x")}:${wanted}` };
}
