// Attention of short sentences: a head of one sentence at a time, in the registers and nearest memory of a thread.

#pragma once

#include "numbers.h"

// As many floats as a register holds: of wider vectors, which it would have to cut, the compiler makes slow code.
#if defined(__AVX512F__)
enum { LANES = 16, ACROSS = 1 };
#elif defined(__AVX__)
enum { LANES = 8, ACROSS = 2 };
#else
enum { LANES = 4, ACROSS = 2 };
#endif
typedef float Vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// C = A · B for (rows, inner), (inner, columns) and (rows, columns) in float, rows a multiple of 4, columns of 16.
static inline void multiply(const float *a, const float *b, float *c, Count rows, Count inner, Count columns) {
    for (Count row = 0; row < rows; row += 4)
        for (Count column = 0; column < columns; column += LANES * ACROSS) {
            Vector sums[4][ACROSS] = {};
            const float *left = a + row * inner, *right = b + column;
            for (Count k = 0; k < inner; k++, left++, right += columns)
                for (int i = 0; i < ACROSS; i++) {
                    const Vector values = *(const Vector *)(right + i * LANES);
                    for (int down = 0; down < 4; down++) sums[down][i] += left[down * inner] * values;
                }
            for (int down = 0; down < 4; down++)
                for (int i = 0; i < ACROSS; i++)
                    *(Vector *)(c + (row + down) * columns + column + i * LANES) = sums[down][i];
        }
}

static inline Count padded(Count count, Count step) { return (count + step - 1) / step * step; }

// A matrix of floats of one thread, zero where nothing was put.
struct Scratch {
    std::vector<float> values;
    Count rows, columns;
    Scratch(Count rows, Count columns) : values(size_t(rows * columns)), rows(rows), columns(columns) {}
    float *operator[](Count row) { return &values[size_t(row * columns)]; }
    template <typename number>
    void read(const number *from, Count stride, Count count, Count width, const float *bias = nullptr) {
        for (Count row = 0; row < count; row++) {
            float *to = (*this)[row];
            const number *own = from + row * stride;
            if (bias) {
#pragma omp simd
                for (Count i = 0; i < width; i++) to[i] = load(own[i]) + bias[i];
            } else {
#pragma omp simd
                for (Count i = 0; i < width; i++) to[i] = load(own[i]);
            }
        }
        if (count < rows) std::memset((*this)[count], 0, size_t((rows - count) * columns) * sizeof(float));
    }
    void transpose(Scratch &from) {
        for (Count row = 0; row < rows; row++)
            for (Count i = 0; i < columns; i++) (*this)[row][i] = from[i][row];
    }
    template <typename number>
    void write(number *to, Count stride, Count count, Count width, float *sum = nullptr) {
        for (Count row = 0; row < count; row++) {
            const float *from = (*this)[row];
            number *own = to + row * stride;
#pragma omp simd
            for (Count i = 0; i < width; i++) store(own[i], from[i]);
            if (!sum) continue;
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] += from[i];
        }
    }
};

// Where queries, keys and values of all sentences and heads lie: rows of `*_stride` numbers, those of a head beside the
// next head's: `key_size` of a query and of a key, `value_size` of a value. The biases, a number for each of a row, are
// not yet added.
struct Heads {
    Count sentences, heads, key_size, value_size, targets, sources, query_stride, memory_stride;
    const Count *lengths;  // keys of each sentence, or null where each position sees itself and those before
    const float *query_bias, *key_bias, *value_bias;
    Count seen(Count sentence, Count target) const { return lengths ? lengths[sentence] : target + 1; }
};

// Attention of one head over few positions, in the registers and nearest memory of one thread.
template <typename number> struct Attention {
    const Heads &at;
    Count rows, columns, asked, given;  // the last two: numbers of a query or key, and of a value
    float scale;
    Scratch query, key, value, across, weights, found;

    explicit Attention(const Heads &at)
        : at(at), rows(padded(at.targets, 16)), columns(padded(at.sources, 16)), asked(padded(at.key_size, 16)),
          given(padded(at.value_size, 16)), scale(1 / std::sqrt(float(at.key_size))), query(rows, asked),
          key(columns, asked), value(columns, given), across(asked, columns), weights(rows, columns),
          found(rows, given) {}

    // Where the head of a sentence begins in queries, keys, values and what was found.
    struct Places {
        Count key_bias, value_bias, query, key, value, out;
        Places(const Heads &at, Count sentence, Count head)
            : key_bias(head * at.key_size), value_bias(head * at.value_size),
              query(sentence * at.targets * at.query_stride + key_bias),
              key(sentence * at.sources * at.memory_stride + key_bias),
              value(sentence * at.sources * at.memory_stride + value_bias),
              out(sentence * at.targets * at.heads * at.value_size + value_bias) {}
    };

    void read(const number *q, const number *k, const number *v, const Places &place) {
        query.read(q + place.query, at.query_stride, at.targets, at.key_size, at.query_bias + place.key_bias);
        key.read(k + place.key, at.memory_stride, at.sources, at.key_size, at.key_bias + place.key_bias);
        value.read(v + place.value, at.memory_stride, at.sources, at.value_size, at.value_bias + place.value_bias);
        across.transpose(key);
        multiply(query[0], across[0], weights[0], rows, asked, columns);
    }

    // Scores to weights; what a position does not see weighs nothing.
    void soften(Count sentence) {
        for (Count row = 0; row < rows; row++) {
            float *w = weights[row];
            const Count seen = row < at.targets ? at.seen(sentence, row) : 0;
            float highest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : highest)
            for (Count i = 0; i < seen; i++) highest = w[i] > highest ? w[i] : highest;
#pragma omp simd reduction(+ : sum)
            for (Count i = 0; i < seen; i++) {
                w[i] = exponential((w[i] - highest) * scale);
                sum += w[i];
            }
            const float share = 1 / sum;
            for (Count i = 0; i < seen; i++) w[i] *= share;
            for (Count i = seen; i < columns; i++) w[i] = 0;
        }
    }

    static void forward(const Heads &at, const number *q, const number *k, const number *v, number *out) {
#pragma omp parallel
        {
            Attention own(at);
            for (Part part(at.sentences * at.heads); part.begin < part.end; part.begin++) {
                const Count sentence = part.begin / at.heads;
                const Places place(at, sentence, part.begin % at.heads);
                own.read(q, k, v, place);
                own.soften(sentence);
                multiply(own.weights[0], own.value[0], own.found[0], own.rows, own.columns, own.given);
                own.found.write(out + place.out, at.heads * at.value_size, at.targets, at.value_size);
            }
        }
    }

    // The gradients of the three biases lie one behind the other in `by_biases`.
    static void backward(const Heads &at, const number *q, const number *k, const number *v, const number *by_out,
                         number *by_q, number *by_k, number *by_v, float *by_biases) {
        const Count keys = at.heads * at.key_size, values = at.heads * at.value_size;  // of all heads together
        Sums all(2 * keys + values);
#pragma omp parallel
        {
            Attention own(at);
            float *sums = all.own();
            Scratch by_found(own.rows, own.given), by_weights(own.rows, own.columns), turned(own.columns, own.rows),
                turned_value(own.given, own.columns), by_query(own.rows, own.asked), by_key(own.columns, own.asked),
                by_value(own.columns, own.given);
            for (Part part(at.sentences * at.heads); part.begin < part.end; part.begin++) {
                const Count sentence = part.begin / at.heads;
                const Places place(at, sentence, part.begin % at.heads);
                own.read(q, k, v, place);
                own.soften(sentence);
                by_found.read(by_out + place.out, values, at.targets, at.value_size);
                turned.transpose(own.weights);
                multiply(turned[0], by_found[0], by_value[0], own.columns, own.rows, own.given);
                by_value.write(by_v + place.value, at.memory_stride, at.sources, at.value_size,
                               sums + 2 * keys + place.value_bias);
                turned_value.transpose(own.value);
                multiply(by_found[0], turned_value[0], by_weights[0], own.rows, own.given, own.columns);
                for (Count row = 0; row < own.rows; row++) {
                    const float *w = own.weights[row];
                    float *by = by_weights[row], level = 0;
#pragma omp simd reduction(+ : level)
                    for (Count i = 0; i < own.columns; i++) level += w[i] * by[i];
#pragma omp simd
                    for (Count i = 0; i < own.columns; i++) by[i] = w[i] * (by[i] - level) * own.scale;
                }
                multiply(by_weights[0], own.key[0], by_query[0], own.rows, own.columns, own.asked);
                by_query.write(by_q + place.query, at.query_stride, at.targets, at.key_size, sums + place.key_bias);
                turned.transpose(by_weights);
                multiply(turned[0], own.query[0], by_key[0], own.columns, own.rows, own.asked);
                by_key.write(by_k + place.key, at.memory_stride, at.sources, at.key_size,
                             sums + keys + place.key_bias);
            }
        }
        all.write(by_biases);
    }
};
