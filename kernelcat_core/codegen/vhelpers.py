"""Functions on vectors that the vector model calls, as templates and by rule.

A name is kc<w>_<operation>_<dtype>: kc4_exp_f32 works on L4 floats. Operations in TEMPLATES are written with vector
arithmetic; all others loop over lanes around the scalar spelling of cstyle, which compilers turn into vector code where
an instruction exists and into calls of libm where not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from kernelcat_core.codegen.cstyle import C, Speller, support_text
from kernelcat_core.codegen.vmath import MATH
from kernelcat_core.codegen.vtypes import STORAGE, VectorClass, type_definitions
from kernelcat_core.dtypes import BOOL, DTYPES, DType
from kernelcat_core.ir.expr import OPS, Expr, Load, Op, Size, Var

SCALAR = replace(C, qualifier="static inline")

# @V@ vector, @T@ element in memory, @M@ mask of the class, @I@ integers as wide as @T@, @p@ prefix, @L@ lanes, @w@ class.
TEMPLATES: dict[str, str] = {
    "set": "KC_INLINE @V@ @p@_set_@t@(@T@ a) { return a - (@V@){0}; }",
    "mask": "KC_INLINE @M@ @p@_mask(bool a) { return (@M@){0} - (@E@)a; }",
    "first": "KC_INLINE @M@ @p@_first(int64_t n) { return (@M@){KC_IOTA@w@} < (@E@)n; }",
    "any": """KC_INLINE bool @p@_any(@M@ a) {
  int64_t r = 0;
  for (int l = 0; l < @L@; l++) r |= a[l];
  return r != 0;
}""",
    # By one divisor for all lanes: its reciprocal, formed once outside the loop, where that is a normal number. Within
    # 1.5 ulp of the quotient; a tenth of the time of a vector division.
    "over.f32": """KC_INLINE @V@ @p@_over_f32(@V@ a, float b) {
  const float r = 1.0f / b;
  return fabsf(b) >= 0x1p-125f && fabsf(b) <= 0x1p125f ? a * r : a / b;
}""",
    "index": "KC_INLINE @V@ @p@_index_@t@(int64_t c) { return (@V@){KC_IOTA@w@} + (@T@)c; }",
    "load": "KC_INLINE @V@ @p@_load_@t@(const @T@ *p) { @V@ r; memcpy(&r, p, sizeof r); return r; }",
    "loadn": """KC_INLINE @V@ @p@_loadn_@t@(const @T@ *p, int64_t n) {
  @V@ r = {0};
  for (int l = 0; l < @L@; l++) if (l < n) r[l] = p[l];
  return r;
}""",
    "store": "KC_INLINE void @p@_store_@t@(@T@ *p, @V@ a) { memcpy(p, &a, sizeof a); }",
    "storen": """KC_INLINE void @p@_storen_@t@(@T@ *p, @V@ a, int64_t n) {
  for (int l = 0; l < @L@; l++) if (l < n) p[l] = a[l];
}""",
    # Past the caches, for outputs that do not fit them anyway: p is aligned to the vector's size.
    "stream": """KC_INLINE void @p@_stream_@t@(@T@ *p, @V@ a) {
#if defined(__clang__)
  __builtin_nontemporal_store(a, (@V@ *)p);
#elif defined(__AVX512F__)
  typedef long long wide __attribute__((vector_size(64), may_alias));
  union { @V@ v; wide w; } u = { a };
  if (sizeof a == 64) __builtin_ia32_movntdq512((wide *)p, u.w);
  else memcpy(p, &a, sizeof a);
#else
  memcpy(p, &a, sizeof a);
#endif
}""",
    "select": "KC_INLINE @V@ @p@_select_@t@(@M@ m, @V@ a, @V@ b) {\n  @I@ k = @k@;\n"
              "  return (@V@)((k & (@I@)a) | (~k & (@I@)b));\n}",
    "select.bool": "KC_INLINE @M@ @p@_select_bool(@M@ m, @M@ a, @M@ b) { return (m & a) | (~m & b); }",
    # Either operand NaN gives NaN: the instruction gives b then, so only NaN in a is left to see to.
    **{f"{name}.{t}": f"""KC_INLINE @V@ @p@_{name}_{t}(@V@ a, @V@ b) {{
#if defined(__AVX512F__) && !defined(__clang__)
  typedef {c} wide __attribute__((vector_size(64)));
  if (sizeof a == 64) {{
    union {{ @V@ v; wide w; }} x = {{ a }}, y = {{ b }};
    y.w = __builtin_ia32_{name}p{t_}512_mask(x.w, y.w, y.w, (unsigned {k})-1, 4);
    @I@ nan = a != a;
    return (@V@)((nan & (@I@)a) | (~nan & (@I@)y.v));
  }}
#endif
  @I@ first = (a {sign} b) | (a != a);
  return (@V@)((first & (@I@)a) | (~first & (@I@)b));
}}""" for name, sign in (("min", "<"), ("max", ">"))
       for t, c, t_, k in (("f32", "float", "s", "short"), ("f64", "double", "d", "char"))},
    **{f"{name}": f"""KC_INLINE @V@ @p@_{name}_@t@(@V@ a, @V@ b) {{
  @I@ first = a {sign} b;
  return (@V@)((first & (@I@)a) | (~first & (@I@)b));
}}""" for name, sign in (("min", "<"), ("max", ">"))},
    **{f"f{name}.{t}": f"""KC_INLINE @V@ @p@_f{name}_{t}(@V@ a, @V@ b) {{
  @I@ first = (a {sign} b) | (b != b);
  return (@V@)((first & (@I@)a) | (~first & (@I@)b));
}}""" for name, sign in (("min", "<"), ("max", ">")) for t in ("f32", "f64")},
    **{f"abs.{t}": "KC_INLINE @V@ @p@_abs_@t@(@V@ a) { return (@V@)((@I@)a & " + most + "); }"
       for t, most in (("f32", "0x7fffffff"), ("f64", "0x7fffffffffffffffll"))},
    "abs": "KC_INLINE @V@ @p@_abs_@t@(@V@ a) { @V@ m = (@V@)(a < 0); return (a ^ m) - m; }",
    "isnan": "KC_INLINE @M@ @p@_isnan_@t@(@V@ a) { @I@ m = a != a; return @n@; }",
    "isinf": "KC_INLINE @M@ @p@_isinf_@t@(@V@ a) { @I@ m = (a - a != a - a) & (a == a); return @n@; }",
    "isfinite": "KC_INLINE @M@ @p@_isfinite_@t@(@V@ a) { @I@ m = a - a == 0; return @n@; }",
    # Lane l of the result is lane l ^ s of a: pairs for folding a vector in log2 steps.
    "swap": """KC_INLINE @V@ @p@_swap_@t@(@V@ a, int s) {
#if defined(__clang__)
  @V@ r;
  for (int l = 0; l < @L@; l++) r[l] = a[l ^ s];
  return r;
#else
  return __builtin_shuffle(a, (@I@){KC_IOTA@w@} ^ (@S@)s);
#endif
}""",
    # Row i, lane l becomes row l, lane i.
    "turn": """KC_INLINE void @p@_turn_@t@(@V@ *square) {
#pragma GCC unroll 8
  for (int s = 1; s < @L@; s *= 2) {
#pragma GCC unroll 64
    for (int i = 0; i < @L@; i++) {
      if (i & s) continue;
      const @V@ a = square[i], b = square[i + s];
#if defined(__clang__)
      for (int l = 0; l < @L@; l++) {
        square[i][l] = l & s ? b[l - s] : a[l];
        square[i + s][l] = l & s ? b[l] : a[l + s];
      }
#else
      const @I@ iota = {KC_IOTA@w@}, other = ((iota & (@S@)s) != 0) & (@S@)(@L@ - s);
      square[i] = __builtin_shuffle(a, b, iota + other);
      square[i + s] = __builtin_shuffle(a, b, iota + (@S@)s + other);
#endif
    }
  }
}""",
}
_MASKED: dict[str, str] = {
    "load": """KC_INLINE @M@ @p@_load_bool(const uint8_t *p) {
  @p0@u8 r;
  memcpy(&r, p, sizeof r);
  return (@M@)(__builtin_convertvector(r, @M@) != 0);
}""",
    "loadn": """KC_INLINE @M@ @p@_loadn_bool(const uint8_t *p, int64_t n) {
  @M@ r = {0};
  for (int l = 0; l < @L@; l++) if (l < n) r[l] = p[l] ? -1 : 0;
  return r;
}""",
    "store": """KC_INLINE void @p@_store_bool(uint8_t *p, @M@ a) {
  @p0@u8 r = __builtin_convertvector(-a, @p0@u8);
  memcpy(p, &r, sizeof r);
}""",
    "storen": """KC_INLINE void @p@_storen_bool(uint8_t *p, @M@ a, int64_t n) {
  for (int l = 0; l < @L@; l++) if (l < n) p[l] = (uint8_t)(a[l] != 0);
}""",
}
_CALL = re.compile(r"\bkc([1248])_(\w+?)(?=\()")
_FLOAT_ONLY = ("isnan", "isinf", "isfinite")
_BARE = ("mask", "first", "any")


def vector_definitions(texts: Iterable[str]) -> str:
    """Typedefs and functions that the given texts use, callees first (scalar helper functions included)."""
    order: dict[str, str] = {}
    scalar: dict[str, None] = {}
    classes: set[int] = set()
    seen: set[str] = set()

    def visit(text: str) -> None:
        classes.update(int(w) for w in re.findall(r"\b[vL]([1248])(?:\w*)\b", text) if w)
        for m in _CALL.finditer(text):
            name = m.group(0)
            if name in seen:
                continue
            seen.add(name)
            body = _definition(VectorClass(int(m.group(1))), m.group(2))
            visit(body)
            order[name] = body
        scalar.update(dict.fromkeys(re.findall(r"\bkc_\w+(?=\()", text)))

    for t in texts:
        visit(t)
    scalar_support = support_text(scalar, SCALAR)
    return "\n".join(x for x in (scalar_support, type_definitions(classes), *order.values()) if x)


def _definition(vc: VectorClass, name: str) -> str:
    if name in _BARE:
        return _fill(TEMPLATES[name], vc, BOOL)
    operation, _, last = name.rpartition("_")
    conversion = re.fullmatch(r"(\w+?)_to_(\w+)", name)
    if conversion:
        return _conversion(vc, DTYPES[conversion.group(1)], DTYPES[conversion.group(2)])
    dtype = DTYPES[last]
    for table, key in ((MATH, f"{operation}.{dtype}"), (TEMPLATES, f"{operation}.{dtype}"),
                       (_MASKED if dtype.kind == "b" else TEMPLATES, operation)):
        if key in table and (key != operation or operation not in _FLOAT_ONLY or dtype.is_float):
            return _fill(table[key], vc, dtype)
    if operation == "swap":
        return _fill(TEMPLATES["swap"], vc, dtype)
    return _by_lane(vc, operation, dtype)


def _leaf(e: Load | Var | Size) -> str:
    assert isinstance(e, Var)
    return e.name


def _by_lane(vc: VectorClass, operation: str, dtype: DType) -> str:
    """The operation lane by lane, through its scalar spelling."""
    rule = OPS[operation]
    names = ["a", "b"][:rule.arity]
    args: tuple[Expr, ...] = tuple(Var(f"{n}[l]", dtype) for n in names)
    answer = BOOL if rule.gives == "bool" else dtype
    text = Speller(SCALAR, _leaf).text(Op(operation, args, answer))
    value = f"{text} ? -1 : 0" if answer == BOOL else text
    parameters = ", ".join(f"{vc.type(dtype)} {n}" for n in names)
    return (f"KC_INLINE {vc.type(answer)} {vc.prefix}_{operation}_{dtype}({parameters}) {{\n  {vc.type(answer)} r;\n"
            f"  for (int l = 0; l < {vc.lanes}; l++) r[l] = {value};\n  return r;\n}}")


def _conversion(vc: VectorClass, source: DType, to: DType) -> str:
    """kc<w>_<source>_to_<to>: what __builtin_convertvector does not say (16-bit floats, saturation, masks)."""
    head = f"KC_INLINE {vc.type(to)} {vc.prefix}_{source}_to_{to}({vc.type(source)} a)"
    if f"{source}_to_{to}" in MATH:
        return _fill(MATH[f"{source}_to_{to}"], vc, to)
    if source.kind == "b":
        whole = f"__builtin_convertvector(-a, {vc.integer(to)})"
        return f"{head} {{ return __builtin_convertvector({whole}, {vc.type(to)}); }}"
    text = Speller(SCALAR, _leaf).text(Op("cast", (Var("a[l]", source),), to))
    return f"{head} {{\n  {vc.type(to)} r;\n  for (int l = 0; l < {vc.lanes}; l++) r[l] = {text};\n  return r;\n}}"


def _fill(template: str, vc: VectorClass, dtype: DType) -> str:
    bits = 8 * vc.width if dtype.kind == "b" else 8 * dtype.itemsize
    same = bits == 8 * vc.width
    words = {"V": vc.type(dtype), "T": STORAGE[dtype.name], "M": vc.mask, "I": f"v{vc.width}i{bits}", "p": vc.prefix,
             "p0": f"v{vc.width}", "L": vc.lanes, "S": f"int{bits}_t", "E": f"int{8 * vc.width}_t",
             "t": dtype.name, "w": str(vc.width), "U": f"v{vc.width}u{bits}",
             "k": "m" if same else f"__builtin_convertvector(m, v{vc.width}i{bits})",
             "n": f"({vc.mask})m" if same else f"__builtin_convertvector(m, {vc.mask})"}
    return re.sub(r"@(\w+)@", lambda m: words[m.group(1)], template)
