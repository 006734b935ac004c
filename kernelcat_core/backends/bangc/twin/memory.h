// Where things lie: the __nram__, __wram__ and __mlu_shared__ arrays of every kernel, found in this library's own symbol
// table, and the tensors of global memory that the host bound.
#pragma once
#include <dlfcn.h>
#include <elf.h>
#include <cstdio>
#include <cstring>
#include <map>
#include "../../twin/races.h"

// Arrays on chip become static arrays in sections of their own, so that their addresses say what they are.
#define __nram__ static __attribute__((section("kc_nram"), aligned(128)))
#define __wram__ static __attribute__((section("kc_wram"), aligned(128)))
#define __mlu_shared__ static __attribute__((section("kc_sram"), aligned(128)))

namespace twin {
enum class Space { nram, wram, sram, gdram, none };
inline const char *space_name(Space s) { static const char *n[] = {"NRAM", "WRAM", "SRAM", "GDRAM", "no device memory"}; return n[int(s)]; }

#if __BANG_ARCH__ == 372
constexpr uint64_t kNram = 768 * 1024, kWram = 1024 * 1024, kSram = 4096 * 1024;
#else
constexpr uint64_t kNram = 512 * 1024, kWram = 512 * 1024, kSram = 2048 * 1024;
#endif
constexpr uint64_t kStack = 128 * 1024;                          // of NRAM: the compiler's

/// One array on chip. `fresh` marks bytes that nothing wrote since the task began.
struct Array {
    std::string kernel, name;
    Space space;
    uint8_t *base;
    uint64_t bytes;
    std::vector<uint8_t> fresh;
};

/// "_ZZ6kernelPfE1X" (C++) is array X of kernel `kernel`.
inline bool read_name(const char *symbol, std::string &kernel, std::string &name) {
    const char *p = std::strstr(symbol, "_ZZ");
    if (p != symbol) return false;
    char *end = nullptr;
    p += 3;
    if (*p == 'L') ++p;
    if (*p == 'N') return false;
    unsigned long n = std::strtoul(p, &end, 10);
    if (n == 0 || std::strlen(end) < n) return false;
    kernel.assign(end, n);
    const char *last = std::strrchr(end, 'E');
    if (!last) return false;
    unsigned long m = std::strtoul(last + 1, &end, 10);
    name.assign(end, std::min<size_t>(m, std::strlen(end)));
    return true;
}
/// Reads the symbol table of the file that this code was loaded from.
inline std::vector<Array> find_arrays() {
    std::vector<Array> found;
    Dl_info here;
    if (!dladdr(reinterpret_cast<void *>(&find_arrays), &here)) return found;
    std::vector<char> file;
    if (FILE *f = std::fopen(here.dli_fname, "rb")) {
        char part[65536];
        for (size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) file.insert(file.end(), part, part + n);
        std::fclose(f);
    }
    if (file.size() < sizeof(Elf64_Ehdr)) return found;
    const auto *head = reinterpret_cast<const Elf64_Ehdr *>(file.data());
    const auto *sections = reinterpret_cast<const Elf64_Shdr *>(file.data() + head->e_shoff);
    const char *titles = file.data() + sections[head->e_shstrndx].sh_offset;
    for (int i = 0; i < head->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const char *words = file.data() + sections[sections[i].sh_link].sh_offset;
        const auto *symbols = reinterpret_cast<const Elf64_Sym *>(file.data() + sections[i].sh_offset);
        for (size_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k) {
            const Elf64_Sym &s = symbols[k];
            if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT || s.st_shndx >= head->e_shnum) continue;
            std::string section = titles + sections[s.st_shndx].sh_name;
            Space space = section == "kc_nram" ? Space::nram : section == "kc_wram" ? Space::wram : section == "kc_sram" ? Space::sram : Space::none;
            Array a{"", "", space, static_cast<uint8_t *>(here.dli_fbase) + s.st_value, s.st_size, {}};
            if (space != Space::none && read_name(words + s.st_name, a.kernel, a.name)) found.push_back(std::move(a));
        }
    }
    std::sort(found.begin(), found.end(), [](const Array &a, const Array &b) { return a.base < b.base; });
    return found;
}
// Internal to this library: processes that load several must not share what lies where.
static std::vector<Array> &arrays() { static std::vector<Array> all = find_arrays(); return all; }
/// The array that holds an address (its end included, so that a message can name it), or null.
static Array *array_at(const void *p) {
    auto &all = arrays();
    const uint8_t *q = static_cast<const uint8_t *>(p);
    auto it = std::upper_bound(all.begin(), all.end(), q, [](const uint8_t *x, const Array &a) { return x < a.base; });
    if (it == all.begin()) return nullptr;
    --it;
    return q <= it->base + it->bytes ? &*it : nullptr;
}
/// What a kernel's arrays take of each memory, each rounded up to 128 B.
static void check_budgets(const std::string &kernel) {
    std::map<Space, uint64_t> used;
    for (const Array &a : arrays()) if (a.kernel == kernel) used[a.space] += (a.bytes + 127) / 128 * 128;
    auto check = [&](Space s, uint64_t room, const char *rule, const char *why) {
        if (used[s] > room) fail(rule, 0, kernel + " declares " + std::to_string(used[s]) + " bytes of " + space_name(s) + ", " + std::to_string(room) + " are there" + why);
    };
    check(Space::nram, kNram - kStack, "nram-budget", " beside the 128 KiB that the compiler keeps");
    check(Space::wram, kWram, "wram-budget", "");
    check(Space::sram, kSram, "sram-budget", "");
}
}  // namespace twin
