"""Random formula texts: from a grammar (mostly meaningful), by mutation of good ones, and as raw characters."""

from __future__ import annotations

import random

SEEDS = (
    "A: f32[3,4]; B: f32[4,5]\nC[i,j] += A[i,k]*B[k,j]",
    "Y[i] = where(i > 0, X[i-1], 0.0) + X[i]",
    "Y[c,y,x] = mean[r in 2, s in 2](X[c,2*y+r,2*x+s])",
    "Y[i in 66] = X[i/2] * where(i % 2 == 0, 1.0, -1.0)",
    "M[i] = max[k](X[i,k]); Y[i,j] = exp(X[i,j]-M[i]) / sum[k](exp(X[i,k]-M[i]))",
    "A: i8[M,K]; B: i8[K,N]; C[i,j] = i32(sum[k](i32(A[i,k])*i32(B[k,j])))",
    "Conv3D(kernel_size=(3,3,3), stride=2, dilation=1)",
    "out = softmax(X, axis=-1)*2 + layer_norm(X, gamma, beta)",
    "output[i] = gather_nearest(points, 0.2, 16)",
    "Y[i] = T[I[i]] + logsumexp[k](X[i,k]) # note",
    "a = 1 < x <= 3 and not (x == 2)\n-> a",
    "Y = X[1:, ::2] @ W + √b·2",
    "Y[i in N] = X[N - 1 - i]; X: f32[N]",
    "Z = concat((A, B), axis=0); S = sum(Z, axis=1, keepdims=True)",
    "sparse_attention(query, key, value, sparsity_mask)",
    "Y[n,c,y,x] = sum[r in 3, s in 3](X[n,c,y+r,x+s]*W[c,r,s])",
    'C = einsum("bij,bjk->bik", A, B)',
    "Y = max_pool2d(X, kernel_size=3, stride=2, padding=1) + reshape(Z, (4, -1))",
)
_PIECES = ("X", "Y", "A", "i", "j", "k", "N", "0", "1", "2", "3.5", "1e30", "-1", "[", "]", "(", ")", ",", ";", "\n", "=", "+=",
           "+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", "==", "!=", " and ", " or ", " not ", " in ", ":", "->",
           "sum[k](", "max[k in 3](", "argmax[i](", "where(", "exp(", "softmax(", "f32", "i32(", "f16[", "bool", "inf", "nan",
           "mean(", "X[i]", "X[i+1]", "X[i,j]", "Σ[k](", "√", "≤", "#", '"', "True", "None", "axis=", "matmul(", "T[I[i]]")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "and", "or", "&", "<<", "@")
_CALLS = ("exp", "sqrt", "abs", "relu", "gelu", "sigmoid", "i32", "f16", "f32", "isnan", "floor", "softmax", "sum", "mean",
          "log_softmax", "transpose", "flatten", "bool", "u8", "layer_norm", "argmax", "cumsum", "sign", "tril")


def grammar(chance: random.Random) -> str:
    """One to four statements whose shape is right and whose meaning may not be."""
    lines = []
    for name in chance.sample(("X", "W", "s", "T"), chance.randint(0, 3)):
        dims = ", ".join(chance.choice(("2", "3", "N", "K", "8", "0")) for _ in range(chance.randint(0, 3)))
        lines.append(f"{name}: {chance.choice(('f32', 'f16', 'i32', 'i8', 'bool', 'u8', 'f64'))}" + (f"[{dims}]" if dims else ""))
    for name in ("Y", "Z", "U")[:chance.randint(1, 3)]:
        indices = chance.sample(("i", "j", "k"), chance.randint(0, 2))
        left = [i + (f" in {chance.choice(('4', 'N', 'N + 1', '0'))}" if chance.random() < 0.2 else "") for i in indices]
        target = name + (f"[{', '.join(left)}]" if left and chance.random() < 0.9 else "")
        lines.append(f"{target} {'+=' if chance.random() < 0.2 else '='} {_expression(chance, [*indices], 4)}")
    return chance.choice(("\n", "; ")).join(lines)


def _expression(chance: random.Random, indices: list[str], depth: int) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.15:
        return chance.choice(("X", "s", "1", "2.5", "0", "inf", "N", *indices))
    if kind < 0.45 and indices:
        subscripts = [_subscript(chance, indices) for _ in range(chance.randint(1, 3))]
        return f"{chance.choice(('X', 'W', 'T', 'Y'))}[{', '.join(subscripts)}]"
    if kind < 0.65:
        a, b = _expression(chance, indices, depth - 1), _expression(chance, indices, depth - 1)
        return f"({a} {chance.choice(_OPERATORS)} {b})"
    if kind < 0.75:
        index = chance.choice(("k", "r", "i"))
        bound = chance.choice(("", "", " in 2", " in N"))
        op = chance.choice(("sum", "max", "mean", "argmax", "logsumexp", "any", "prod"))
        return f"{op}[{index}{bound}]({_expression(chance, [*indices, index], depth - 1)})"
    if kind < 0.85:
        c, a, b = (_expression(chance, indices, depth - 1) for _ in range(3))
        return f"where({c}, {a}, {b})"
    return f"{chance.choice(_CALLS)}({_expression(chance, indices, depth - 1)})"


def _subscript(chance: random.Random, indices: list[str]) -> str:
    i = chance.choice(indices)
    return chance.choice((i, i, i, f"{i} + 1", f"2*{i}", f"{i} - 1", f"{i}//2", f"{i} % 3", "0", f"T[{i}]", "N - 1", "1:"))


def mutated(chance: random.Random) -> str:
    """A good formula with a few pieces removed, doubled, swapped or put in."""
    text = chance.choice(SEEDS)
    for _ in range(chance.randint(1, 5)):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        match chance.randint(0, 4):
            case 0:
                text = text[:at] + text[min(to, at + 6):]
            case 1:
                text = text[:at] + chance.choice(_PIECES) + text[at:]
            case 2:
                text = text[:to] + text[at:to] + text[to:]
            case 3:
                text = text[:at] + chance.choice(_PIECES) + text[min(to, at + 3):]
            case _:
                text = text[:at] + chance.choice(SEEDS)[:chance.randint(1, 40)] + text[at:]
    return text


def noise(chance: random.Random) -> str:
    """Pieces in no order, or characters from everywhere."""
    if chance.random() < 0.6:
        return "".join(chance.choice(_PIECES) for _ in range(chance.randint(1, 60)))
    letters = "".join(chr(chance.choice((chance.randint(0, 127), chance.randint(128, 0x2FFF), chance.randint(0, 0x10FFFF))))
                      for _ in range(chance.randint(1, 80)))
    return letters.encode("utf-8", "replace").decode("utf-8")


def hostile() -> list[str]:
    """Texts made to break limits: deep, long, huge, exponential."""
    n = 60_000
    return [
        "(" * n, "Y = " + "(" * 5000 + "1" + ")" * 5000, "Y = " + "-" * n + "1", "Y = " + "not " * 10_000 + "1",
        "Y = " + "a**" * 10_000 + "a", "Y = " + "+".join(["a"] * 20_000), "Y = " + "√" * 15_000 + "2",
        "Y = " + "sum[k](" * 5000, "Y[i] = " + "X[" * 9000 + "i" + "]" * 9000, "X: f32[" + "2," * 20_000 + "2]; Y = X",
        "Y = " + "9" * 50_000, "Y = 10**10**10**10", "Y = 2**2**2**2**2**2", "Y = 1e308*10", "Y = 10.0**400", "Y = 1/0",
        "Y = 1 << 99999999999", "Y = 7 % 0", "Y = 0**-1", "Y[i in 99999999999999999] = i",
        "X: f32[1099511627776, 1099511627776]; Y[i] = sum[j](X[i,j])", "\n" * 65_000, ";" * 65_000, "a=1;" * 15_000,
        "Y[" + ",".join(f"i{k} in 9" for k in range(2000)) + "] = 1", "-> " + ",".join(["a"] * 20_000),
        "Y = " + "gelu(" * 90 + "X" + ")" * 90, "Y = " + "mish(" * 150 + "x" + ")" * 150,
        "Y[i] = " + "mish(" * 100 + "X[i]" + ")" * 100, "Y = " + "softmax(" * 60 + "X" + ")" * 60,
        "\n".join(["A = x*x", *(f"A{k} = {'A' if k == 0 else f'A{k - 1}'}*{'A' if k == 0 else f'A{k - 1}'}"
                                for k in range(400))]),
        "Y = " + "where(x > 0, " * 150 + "x" + ", 1)" * 150, "X: f32[4]; Y = X[" + "0:" * 20_000 + "]",
        "Y[i] = X[" + "+".join(["i"] * 400) + "]", "Y[i in 9] = X[" + "*".join(["(i+1)"] * 30) + "]",
        "Y[i,j] = X[" + "*".join(["(i+j+1)"] * 12) + "]", 'einsum("' + "i," * 9000 + 'i", A)', "f(" * 9000,
        "x" * 65_000, "x" * 65_537, '"' + "a" * 60_000, "#" * 65_000, "Y = '" + "a" * 60_000 + "'",
        "Y[i in 9] = X[" + "(" * 60 + "i" + "%3)//2*7+i)" * 60 + "]", "\ud800 = 1", "Y = \x00", "ﷺ = 1", "Y = ²", "Y = x\u0301",
        "Y = " + "max(X, " * 150 + "0.0" + ")" * 150, "Y = reshape(X, (" + "1," * 9000 + "))",
        "tile(X, (99999999, 99999999))", "concat((" + "A," * 300 + "B))", "Y = first_true(X < 1, 99999999999)",
    ]
