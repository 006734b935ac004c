"""Kernels of language models as formulas: part of the gallery."""

from __future__ import annotations

from kernelcat_core.formula.gallery_item import GalleryItem

_GROUP = "Language models"

LANGUAGE_MODELS = (
    GalleryItem("rope", "RoPE", _GROUP,
                "X: f32[T, H, D]\n"
                "w[i in D//2] = 10000.0 ** (-2.0*i/D)\n"
                "Y[t,h,d] = (X[t,h,d]*cos(t*w[d % (D//2)])\n"
                "    + where(d < D//2, -X[t,h,d + D//2], X[t,h,d - D//2])*sin(t*w[d % (D//2)]))\n"
                "-> Y\n",
                {"X": "24x4x32:f32"},
                "Rotate-half rotary position embedding; angles are made in the formula."),
    GalleryItem("swiglu", "SwiGLU", _GROUP,
                "G[t,f] = sum[d](X[t,d]*A[d,f])\n"
                "U[t,f] = sum[d](X[t,d]*B[d,f])\n"
                "Y[t,f] = silu(G[t,f])*U[t,f]\n"
                "-> Y\n",
                {"X": "24x32:f32", "A": "32x48:f32", "B": "32x48:f32"},
                "Two products, one gated by the SiLU of the other."),
    GalleryItem("add-rms-norm", "Residual add and RMSNorm", _GROUP,
                "S[t,d] = X[t,d] + R[t,d]\n"
                "m[t] = mean[d](S[t,d]**2)\n"
                "Y[t,d] = S[t,d] / sqrt(m[t] + 1e-6) * g[d]\n"
                "-> Y, S\n",
                {"X": "32x96:f32", "R": "32x96:f32", "g": "96:f32"},
                "The sum is kept for the next layer, its normalised form goes on."),
    GalleryItem("paged-attention", "Paged attention", _GROUP,
                "q: f32[B, H, D]\n"
                "K: f32[N, P, H, D]\n"
                "V: f32[N, P, H, D]\n"
                "page: i32[B, M]\n"
                "length: i32[B]\n"
                "S[b,h,s in M*P] = where(s < max(length[b], 1), sum[d](q[b,h,d]*K[page[b,s//P],s%P,h,d]) / sqrt(f32(D)), -inf)\n"
                "top[b,h] = max[s](S[b,h,s])\n"
                "W[b,h,s] = exp(S[b,h,s] - top[b,h])\n"
                "O[b,h,d] = sum[s](W[b,h,s]*V[page[b,s//P],s%P,h,d]) / sum[s](W[b,h,s])\n",
                {"q": "2x4x16:f32", "K": "8x4x4x16:f32", "V": "8x4x4x16:f32", "page": "2x6:i32", "length": "2:i32"},
                "One query a sequence over keys and values that lie in pages of a cache."),
    GalleryItem("grouped-gemm", "Grouped matrix product", _GROUP,
                "ends: i32[E]\n"
                "group[t in T] = sum[e](i64(ends[e] <= t))\n"
                "X: f32[T, D]\n"
                "Y[t,f] = sum[d](X[t,d]*W[group[t],d,f])\n"
                "-> Y\n",
                {"X": "40x32:f32", "W": "4x32x24:f32", "ends": "4:i32"},
                "Rows sorted by expert meet their expert's weights; `ends` says where experts end."),
    GalleryItem("w4a16-matmul", "W4A16 matrix product", _GROUP,
                "P: u8[N, B]\n"
                "scale: f16[N, G]\n"
                "X: f16[M, 32*G]\n"
                "Y[m,n] = f16(sum[k](f32(X[m,k]) * (f32((P[n,k//2] >> u8(4*(k % 2))) & 15) - 8.0) * f32(scale[n,k//32])))\n",
                {"P": "24x64:u8", "scale": "24x4:f16", "X": "16x128:f16"},
                "Two 4-bit weights a byte, one scale for 32 of them, 16-bit activations."),
    GalleryItem("fp8-matmul", "FP8 matrix product", _GROUP,
                "A: f8e4m3[M, K]\n"
                "B: f8e4m3[N, K]\n"
                "row: f32[M]\n"
                "column: f32[N]\n"
                "Y[m,n] = bf16(sum[k](A[m,k]*B[n,k]) * row[m]*column[n])\n",
                {"A": "24x64:f8e4m3", "B": "32x64:f8e4m3", "row": "24:f32", "column": "32:f32"},
                "E4m3 operands, one scale a row and a column, f32 accumulation."),
)
