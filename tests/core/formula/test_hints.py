"""What newcomers write, and the next step that the error names."""

from __future__ import annotations

import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import default_workload, lower, parse

CONV = "Y[n,h,w] = sum[r in 3, s in 3](where(h+r-1 >= 0 and h+r-1 < H and w+s-1 >= 0 and w+s-1 < Wd, X[n,h+r-1,w+s-1], 0.0))"


@pytest.mark.parametrize(("text", "code", "hint"), [
    ("Y[i] = X[i]^2", "KC-F015", "a power is written **"),
    ("Y = X.sum()", "KC-F001", "write sum(X)"),
    ("Y = (X + 1).sum()", "KC-F001", "write sum(x)"),
    ("Y = W.T @ X", "KC-F001", "write transpose(W)"),
    ("Y = torch.softmax(X)", "KC-F001", "write softmax(...) alone"),
    ("Y = torch.nn.functional.relu(X)", "KC-F001", "write relu(...) alone"),
    ("Y = np.exp(X)", "KC-F001", "write exp(...) alone"),
    ("Y = X . ", "KC-F001", "comment"),
    ("Y = sofmax(X)", "KC-F004", "did you mean 'softmax'?"),
    ("Y = fft(X)", "KC-F004", "a sum: sum[n]"),
    ("Y = dropout(X)", "KC-F004", "leave it out"),
    ("Y = popcount(X)", "KC-F004", "(x >> b) & 1"),
    ("Y = glorp(X)", "KC-F004", "`kernelcat operators`"),
    ("Y = a(b + c)", "KC-F004", "write * between factors: a*(...)"),
    ("alpha: f32; Y[i] = alpha(X[i])", "KC-F004", "write * between factors: alpha*(...)"),
    ("Y[i] = Z[i, t[i]]", "KC-F015", "declare it: t: i64[N]"),
    ("t: f32[N]; Y[i] = Z[i, t[i]*2]", "KC-F015", "cast it: i64(...)"),
    (CONV, "KC-F013", "H, Wd are scalar inputs here, no sizes, so the guard does not count: "
                      "declare the tensor with its sizes, e.g. X: f32[B, H, Wd]"),
    ("Y[i in 10] = X[i+1]; X: f32[10]", "KC-F013", "guard it"),
    ("top[t] = max[s](where(s <= t, X[s], -inf))", "KC-F011", "declare a size, e.g. X: f32[N], and give its range: t in N"),
    ("X: f32[M]; top[t] = max[s](where(s <= t, X[s], -inf))", "KC-F011", "give its range: t in M"),
    ("P[i] = where(i > 0, X[i-1,0], 0.0)", "KC-F011", "X: f32[B, N]"),
    ("softmax:  Y[i, j] = exp(X[i, j])", "KC-F018", "# softmax"),
    ("f: relu(X)", "KC-F018", "# f"),
    ("X: f33[4]", "KC-F018", "types are f64 f32"),
])
def test_the_next_step(text: str, code: str, hint: str) -> None:
    with pytest.raises(KernelcatError) as caught:
        lowered = lower(parse(text))
        lowered.check(default_workload(lowered))
    assert (caught.value.code, hint in caught.value.hint) == (code, True), caught.value
    assert caught.value.line is not None
