"""Formulas to start from: each runs as it stands; a target that lacks an element type says so."""

from __future__ import annotations

from kernelcat_core.formula.gallery_item import GalleryItem
from kernelcat_core.formula.gallery_language_models import LANGUAGE_MODELS


def gallery() -> tuple[GalleryItem, ...]:
    """The gallery, in order of presentation."""
    return (*_ITEMS, *LANGUAGE_MODELS)


_ITEMS = (
    GalleryItem("softmax", "Softmax", "Normalisation",
                "# each row becomes a distribution\n"
                "M[i] = max[k](X[i,k])\n"
                "Y[i,j] = exp(X[i,j] - M[i]) / sum[k](exp(X[i,k] - M[i]))\n",
                {"X": "64x128:f32"}, "Row-wise softmax written with two reducers."),
    GalleryItem("log-softmax", "Log-softmax", "Normalisation", "log_softmax(X, axis=-1)\n", {"X": "64x128:f32"},
                "The logarithm of softmax, without overflow."),
    GalleryItem("layer-norm", "Layer normalisation", "Normalisation", "Y = layer_norm(X, gamma, beta, eps=1e-5)\n",
                {"X": "64x128:f32", "gamma": "128:f32", "beta": "128:f32"},
                "Zero mean and unit variance of each row, then scale and shift."),
    GalleryItem("rms-norm", "RMS normalisation", "Normalisation",
                "R[i] = mean[k](X[i,k]**2)\nY[i,j] = X[i,j] / sqrt(R[i] + 1e-6) * gamma[j]\n",
                {"X": "64x128:f32", "gamma": "128:f32"}, "Each row divided by its root mean square."),
    GalleryItem("matmul", "Matrix product", "Products", "C[i,j] += A[i,k]*B[k,j]\n", {"A": "64x96:f32", "B": "96x80:f32"},
                "The index that the left side lacks is summed."),
    GalleryItem("matmul-bias-gelu", "Matrix product, bias, GELU", "Products",
                "H[i,j] = sum[k](X[i,k]*W[k,j]) + b[j]\nY[i,j] = gelu(H[i,j])\n-> Y\n",
                {"X": "64x96:f32", "W": "96x80:f32", "b": "80:f32"}, "A fused layer by index notation."),
    GalleryItem("einsum-batched", "Batched einsum", "Products", 'C = einsum("bij,bjk->bik", A, B)\n',
                {"A": "4x24x32:f32", "B": "4x32x20:f32"}, "A matrix product for every entry of a batch."),
    GalleryItem("int8-matmul", "Quantised matrix product", "Products",
                "A: i8[M, K]\nB: i8[K, N]\nscale: f32[N]\n"
                "C[i,j] = i32(sum[k](i32(A[i,k])*i32(B[k,j])))\nY[i,j] = f32(C[i,j])*scale[j]\n",
                {"A": "48x64:i8", "B": "64x40:i8", "scale": "40:f32"},
                "8-bit operands, a 32-bit accumulator, one scale a column."),
    GalleryItem("conv2d", "Conv2D", "Convolution", "Conv2D(kernel_size=3, padding=1, bias=True)\n",
                {"input": "2x8x20x20:f32", "weight": "12x8x3x3:f32", "bias": "12:f32"}, "A 3x3 convolution with padding."),
    GalleryItem("conv3d", "Conv3D", "Convolution", "Conv3D(kernel_size=(3,3,3), stride=2, dilation=1)\n",
                {"input": "1x4x11x11x11:f32", "weight": "6x4x3x3x3:f32"}, "A strided convolution over three axes."),
    GalleryItem("depthwise-conv", "Depthwise convolution", "Convolution",
                "Y[n,c,y,x] = sum[r in 3, s in 3](X[n,c,y+r,x+s]*W[c,r,s])\n",
                {"X": "2x16x18x18:f32", "W": "16x3x3:f32"}, "One filter a channel; ranges shrink to what fits."),
    GalleryItem("max-pool", "Max pool", "Pooling", "max_pool2d(X, kernel_size=3, stride=2, padding=1)\n",
                {"X": "2x8x17x17:f32"}, "The largest element of sliding windows."),
    GalleryItem("mean-variance", "Mean and variance", "Reductions",
                "mu[i] = mean[k](X[i,k])\nvariance[i] = mean[k]((X[i,k] - mu[i])**2)\n-> mu, variance\n",
                {"X": "64x100:f32"}, "Two outputs, the second computed from the first."),
    GalleryItem("argmax", "Argmax", "Reductions", "best[i] = argmax[k](X[i,k])\n", {"X": "64x100:f32"},
                "The position of the largest element, the first of equals."),
    GalleryItem("logsumexp", "Log-sum-exp", "Reductions", "L[i] = logsumexp[k](X[i,k])\n", {"X": "64x100:f32"},
                "Stable for large and for infinite elements."),
    GalleryItem("attention", "Attention", "Attention", "attention(query, key, value)\n",
                {"query": "2x32x16:f32", "key": "2x48x16:f32", "value": "2x48x16:f32"}, "Scaled dot-product attention."),
    GalleryItem("sparse-attention", "Block-sparse attention", "Attention",
                "sparsity_mask: bool[QB, KB]\nsparse_attention(query, key, value, sparsity_mask)\n",
                {"query": "2x32x16:f32", "key": "2x32x16:f32", "value": "2x32x16:f32", "sparsity_mask": "4x4:bool"},
                "Blocks of queries meet blocks of keys where the mask says so."),
    GalleryItem("causal-mask", "Causal mask", "Attention", "Y[q,k] = where(k <= q, S[q,k], -1e30)\n", {"S": "48x48:f32"},
                "A guard: loads above the diagonal are not performed."),
    GalleryItem("heat-2d", "Heat equation step", "Stencils",
                "T: f32[H, W]\n"
                "Y[y in H, x in W] = T[y,x] + 0.1*(where(y > 0, T[y-1,x], 0.0) + where(y < H-1, T[y+1,x], 0.0)\n"
                "    + where(x > 0, T[y,x-1], 0.0) + where(x < W-1, T[y,x+1], 0.0) - 4.0*T[y,x])\n",
                {"T": "40x50:f32"}, "A five-point stencil with cold borders."),
    GalleryItem("pairwise-distances", "Pairwise distances", "Points",
                "D[i,j] = sqrt(sum[c]((P[i,c] - Q[j,c])**2))\n", {"P": "40x3:f32", "Q": "50x3:f32"},
                "Every distance between two sets of points."),
    GalleryItem("ball-query", "Ball query", "Points", "output[i] = ball_query(points, 0.3, 8)\n", {"points": "128x3:f32"},
                "The first eight neighbours of each point within a radius."),
    GalleryItem("cosine-similarity", "Cosine similarity", "Points", "cosine_similarity(A, B, axis=-1)\n",
                {"A": "64x48:f32", "B": "64x48:f32"}, "The cosine of the angle between rows."),
)
