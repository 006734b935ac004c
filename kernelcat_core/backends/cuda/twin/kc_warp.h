// Warp collectives: lanes hand in a Request; the last of them completes it for all.
#pragma once
#include "kc_memory.h"

namespace kc {

static float half_value(unsigned bits, bool bfloat) {
  unsigned u;
  float f;
  if (bfloat) {
    u = bits << 16;
    memcpy(&f, &u, 4);
    return f;
  }
  unsigned magnitude = bits & 0x7fff;
  u = magnitude >= 0x7c00 ? 0x7f800000u | (magnitude & 0x3ff) << 13 : magnitude << 13;
  memcpy(&f, &u, 4);
  if (magnitude < 0x7c00) f *= 0x1p112f;
  return bits & 0x8000 ? -f : f;
}

enum Kind { kSync, kShuffle, kBallot = kShuffle + 4, kLoadMatrix, kLoadMatrixT, kMmaHalf, kMmaBfloat };

struct Shuffle {
  uint64_t value, result;
  int operand, width;
};
struct Ballot {
  int predicate;
  kc_mask result;
};
struct LoadMatrix {
  unsigned* r;
  const void* row;
};
struct Mma {
  float* d;
  const unsigned *a, *b;
};

static void complete_shuffle(Warp& w, kc_mask mask, int kind) {
  for (int lane = 0; lane < (int)kWarp; lane++) {
    if (!(mask >> lane & 1)) continue;
    Shuffle& s = *(Shuffle*)w.fiber[lane]->request.payload;
    int width = s.width, low = lane & ~(width - 1), high = low + width - 1, from = lane;
    if (kind == 0) from = low | (s.operand & (width - 1));
    if (kind == 1) from = lane - s.operand >= low ? lane - s.operand : lane;
    if (kind == 2) from = lane + s.operand <= high ? lane + s.operand : lane;
    if (kind == 3) from = (lane ^ s.operand) <= high ? lane ^ s.operand : lane;
    if (!(mask >> from & 1)) fail("shuffle-lane", "lane %d reads from lane %d, which the mask leaves out", lane, from);
    s.result = ((Shuffle*)w.fiber[from]->request.payload)->value;
  }
}

static void complete_ballot(Warp& w, kc_mask mask) {
  kc_mask votes = 0;
  for (int lane = 0; lane < (int)kWarp; lane++)
    if ((mask >> lane & 1) && ((Ballot*)w.fiber[lane]->request.payload)->predicate) votes |= kLane << lane;
  for (int lane = 0; lane < (int)kWarp; lane++)
    if (mask >> lane & 1) ((Ballot*)w.fiber[lane]->request.payload)->result = votes;
}

// ldmatrix .x4: lane 8*m + i gives the address of row i of the m-th 8x8 matrix of 16-bit elements.
static void complete_load_matrix(Warp& w, bool transposed) {
  uint16_t m[4][8][8];
  for (int lane = 0; lane < 32; lane++) {
    LoadMatrix& p = *(LoadMatrix*)w.fiber[lane]->request.payload;
    memcpy(m[lane / 8][lane % 8], p.row, 16);
  }
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      int row = lane / 4, column = lane % 4 * 2;
      unsigned low = transposed ? m[i][column][row] : m[i][row][column];
      unsigned high = transposed ? m[i][column + 1][row] : m[i][row][column + 1];
      ((LoadMatrix*)w.fiber[lane]->request.payload)->r[i] = low | high << 16;
    }
}

// mma.sync.m16n8k16.row.col: fragment layouts of the PTX ISA. The sum over k is formed in f64 and rounded once; real
// hardware may round between, which the tolerance of the check allows for.
static void complete_mma(Warp& w, bool bfloat) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; lane++) {
    Mma& p = *(Mma*)w.fiber[lane]->request.payload;
    int group = lane / 4, pair = lane % 4 * 2;
    for (int i = 0; i < 8; i++) {
      unsigned bits = p.a[i / 2] >> i % 2 * 16 & 0xffff;
      a[group + i / 2 % 2 * 8][pair + i % 2 + i / 4 * 8] = half_value(bits, bfloat);
    }
    for (int i = 0; i < 4; i++)
      b[pair + i % 2 + i / 2 * 8][group] = half_value(p.b[i / 2] >> i % 2 * 16 & 0xffff, bfloat);
  }
  for (int lane = 0; lane < 32; lane++) {
    Mma& p = *(Mma*)w.fiber[lane]->request.payload;
    for (int i = 0; i < 4; i++) {
      int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = p.d[i];
      for (int k = 0; k < 16; k++) sum += (double)a[row][k] * (double)b[k][column];
      p.d[i] = (float)sum;
    }
  }
}

static void collective(int kind, kc_mask mask, void* payload, int line) {
  Fiber* me = current;
  Warp& w = warps[me->linear / kWarp];
  unsigned lane = me->linear % kWarp;
  me->line = line;
  fault_place = nullptr;
  char who[64];
  if (mask == kAllLanes && w.lanes != kAllLanes)
    fail("warp-divergence", "a full mask at line %d, but the block's last warp has only %d threads", line,
         (int)count_lanes(w.lanes));
  if (!(mask >> lane & 1) || mask & ~w.lanes)
    fail("warp-divergence", "the mask 0x%08llx at line %d must name the calling lane and only lanes that exist",
         (unsigned long long)mask, line);
  if (mask & w.gone)
    fail("warp-divergence", "the mask at line %d names lane %d, which has left the kernel", line,
         (int)first_lane(mask & w.gone));
  if (kc_mask before = w.arrived & mask) {
    Fiber* other = w.fiber[first_lane(before)];
    if (other->request.kind != kind || other->request.line != line || other->request.mask != mask)
      fail("warp-divergence", "it is at line %d with mask 0x%08llx, but %s at line %d with mask 0x%08llx", line,
           (unsigned long long)mask, thread_name(other, who, sizeof who), other->request.line,
           (unsigned long long)other->request.mask);
  }
  me->request = {kind, line, mask, payload};
  w.arrived |= kLane << lane;
  if ((w.arrived & mask) != mask) {
    me->state = kAtWarp;
    switch_away();
    return;
  }
  if (kind == kSync && mask == w.lanes) w.epoch++;
  if (kind >= kShuffle && kind < kBallot) complete_shuffle(w, mask, kind - kShuffle);
  if (kind == kBallot) complete_ballot(w, mask);
  if (kind == kLoadMatrix || kind == kLoadMatrixT) complete_load_matrix(w, kind == kLoadMatrixT);
  if (kind == kMmaHalf || kind == kMmaBfloat) complete_mma(w, kind == kMmaBfloat);
  w.arrived &= ~mask;
  for (int i = 0; i < (int)kWarp; i++)
    if (mask >> i & 1) w.fiber[i]->state = kReady;
}

}  // namespace kc

extern "C" void kc_warp_barrier(kc_mask mask, int line) {
  // A full mask in a short last warp means all of its threads, as on hardware.
  kc::Warp& w = kc::warps[kc::current->linear / kc::kWarp];
  kc::collective(kc::kSync, mask == kc::kAllLanes ? w.lanes : mask, nullptr, line);
}

extern "C" uint64_t kc_shuffle(int kind, kc_mask mask, uint64_t value, int operand, int width, int line) {
  if (width < 1 || width > (int)kc::kWarp || (width & (width - 1)))
    kc::fail("shuffle-lane", "a shuffle of width %d at line %d; it must be a power of two up to %d", width, line,
             (int)kc::kWarp);
  kc::Shuffle s{value, 0, operand, width};
  kc::collective(kc::kShuffle + kind, mask, &s, line);
  return s.result;
}

extern "C" kc_mask kc_ballot(kc_mask mask, int predicate, int line) {
  kc::Ballot b{predicate, 0};
  kc::collective(kc::kBallot, mask, &b, line);
  return b.result;
}

extern "C" kc_mask kc_active_mask(void) {
  kc::Warp& w = kc::warps[kc::current->linear / kc::kWarp];
  return w.lanes & ~w.gone;
}

extern "C" void kc_ldmatrix_x4(unsigned r[4], const void* row, int transposed, int line) {
  void* place = __builtin_return_address(0);
  kc::current->line = line;
  if (!kc::is_shared((uintptr_t)row)) kc::fail("shared-out-of-bounds", "ldmatrix reads an address outside shared memory");
  kc::check((uintptr_t)row, 16, kc::kRead, place);
  kc::LoadMatrix l{r, row};
  kc::collective(transposed ? kc::kLoadMatrixT : kc::kLoadMatrix, kc::kAllLanes, &l, line);
}

extern "C" void kc_mma_16816(float d[4], const unsigned a[4], const unsigned b[2], int bfloat, int line) {
  kc::Mma m{d, a, b};
  kc::collective(bfloat ? kc::kMmaBfloat : kc::kMmaHalf, kc::kAllLanes, &m, line);
}
