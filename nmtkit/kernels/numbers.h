// Numbers and their formats, masks of dropout, and the rows of a thread: what all kernels are made of.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads() { return 1; }
static int omp_get_thread_num() { return 0; }
static int omp_get_num_threads() { return 1; }
#endif

typedef int64_t Count;

struct bfloat16 {
    uint16_t bits;
};

static inline float load(float x) { return x; }
static inline float load(bfloat16 x) {
    uint32_t bits = uint32_t(x.bits) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static inline void store(float &to, float x) { to = x; }
static inline void store(bfloat16 &to, float x) {  // to the nearest, ties to even
    uint32_t bits;
    memcpy(&bits, &x, 4);
    to.bits = uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// exp(x) for x up to 88, to 2 units in the last place: 2^n · exp(rest), the rest within half a step of zero.
static inline float exponential(float x) {
    const float steps = (x < -87.0f ? -87.0f : x) * 1.44269504f;
    const float n = std::floor(steps + 0.5f);
    const float rest = (steps - n) * 0.69314718f;
    float e = 1.0f / 5040;
    e = e * rest + 1.0f / 720;
    e = e * rest + 1.0f / 120;
    e = e * rest + 1.0f / 24;
    e = e * rest + 1.0f / 6;
    e = e * rest + 0.5f;
    e = e * rest + 1;
    e = e * rest + 1;
    const int32_t exponent = (int32_t(n) + 127) << 23;
    float power;
    memcpy(&power, &exponent, 4);
    return e * power;
}

// 32 bits without visible structure out of 32: two multiplications between shifts, as in the finaliser of MurmurHash3.
static inline uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

// Which places dropout keeps, and what it multiplies them by.
struct Mask {
    uint32_t low, high, dropped;
    float scale;
    Mask(uint64_t seed, float p) : low(uint32_t(seed)), high(uint32_t(seed >> 32)) {
        dropped = uint32_t(double(p) * 4294967296.0);
        scale = 1 / (1 - p);
    }
    float at(uint32_t place) const { return mixed(mixed(place + low) ^ high) >= dropped ? scale : 0.0f; }
};

// The rows of one thread.
struct Part {
    Count begin, end;
    explicit Part(Count rows) {
        Count threads = omp_get_num_threads(), thread = omp_get_thread_num();
        begin = rows * thread / threads;
        end = rows * (thread + 1) / threads;
    }
};

// Sums over rows, a block of `width` for each thread.
struct Sums {
    Count width;
    std::vector<float> blocks;
    explicit Sums(Count width) : width(width), blocks(size_t(width) * omp_get_max_threads(), 0.0f) {}
    float *own() { return &blocks[size_t(width) * omp_get_thread_num()]; }
    void write(float *to) const {
        for (Count i = 0; i < width; i++) {
            float sum = 0;
            for (size_t block = 0; block < blocks.size(); block += width) sum += blocks[block + i];
            to[i] = sum;
        }
    }
};
