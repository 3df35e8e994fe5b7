// SPDX-License-Identifier: Apache-2.0
// Inner sums, and matrices in the clear.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "ciphermote/evaluate.h"
#include "rns/inside.h"
#include "rns/level.h"

namespace ciphermote
{

// ---- inner sums ----

namespace
{

// Sums of k neighbours, for k = 1 and then each number that the binary digits of count begin with: k doubles,
// and where the next digit is 1 one neighbour is added.
template <class Double, class AddOne> void build_up(std::size_t count, Double twice, AddOne add_one)
{
    std::size_t highest = 1;
    while (highest <= count / 2) {
        highest *= 2;
    }
    std::size_t k = 1;
    for (std::size_t digit = highest / 2; digit > 0; digit /= 2) {
        twice(static_cast<int>(k));
        k *= 2;
        if (count & digit) {
            add_one(static_cast<int>(k));
            k++;
        }
    }
}

void check_sum(const Context &context, std::size_t count)
{
    if (count < 1 || count > context.n() / 2) {
        throw Error("The sum of " + std::to_string(count) + " slots is asked for: give 1 to " +
                    std::to_string(context.n() / 2) + ".");
    }
}

} // namespace

std::vector<int> inner_sum_steps(const Context &context, std::size_t count)
{
    check_sum(context, count);
    std::set<int> steps;
    const auto note = [&steps](int step) { steps.insert(step); };
    build_up(count, note, note);
    return {steps.begin(), steps.end()};
}

Ciphertext inner_sum(const Ciphertext &a, std::size_t count, const EvaluationKeys &keys)
{
    check_sum(*a.context(), count);
    check_batches(tables_of(a), "inner sums");
    Ciphertext sum = a, moved;
    const auto add_rotated = [&](const Ciphertext &of, int step) {
        rotate(of, step, keys, moved);
        add(sum, moved, sum);
    };
    build_up(
        count, [&](int step) { add_rotated(sum, step); }, [&](int step) { add_rotated(a, step); });
    return sum;
}

// ---- matrices ----

/*
 * Diagonal k holds M[i][i + k] at slot i, and the product is the sum of each diagonal times the vector
 * rotated by k. Rotations go in two steps (Halevi and Shoup, "Faster homomorphic linear transformations in
 * HElib", 2018): k = giant + baby. The vector is rotated by the baby steps; for each giant step, the
 * diagonals, rotated back by it, are multiplied and added up, and the sum is rotated once.
 */
struct Matrix::Body {
    std::vector<int> babies;
    std::map<int, std::map<int, Plaintext>> giants; // by giant and baby step
    std::vector<int> steps;
};

namespace
{

Plaintext encoded(const std::shared_ptr<const Context> &context, const std::vector<double> &slots,
                  double scale, unsigned primes)
{
    return Plaintext(context, slots, scale, primes);
}

Plaintext encoded(const std::shared_ptr<const Context> &context, std::vector<std::int64_t> slots, double,
                  unsigned primes)
{
    check_batches(tables_of(context), "matrices");
    const std::vector<std::int64_t> row = slots; // BFV's second one is as the first
    slots.insert(slots.end(), row.begin(), row.end());
    return Plaintext(context, slots, Places::slots, primes);
}

bool all_zero(std::span<const std::uint32_t> residues)
{
    return std::all_of(residues.begin(), residues.end(), [](std::uint32_t x) { return x == 0; });
}

template <class Number, class Body>
void set_matrix(Body &body, const std::shared_ptr<const Context> &context, std::span<const Number> numbers,
                std::size_t rows, std::size_t columns, double scale, unsigned primes)
{
    const std::size_t slots = held(context)->n() / 2;
    if (rows < 1 || columns < 1 || rows > slots || columns > slots || numbers.size() != rows * columns) {
        throw Error("A matrix of " + std::to_string(rows) + " by " + std::to_string(columns) +
                    " is given as " + std::to_string(numbers.size()) +
                    " numbers: give one for each entry, and at most " + std::to_string(slots) +
                    " rows and columns.");
    }
    const bool wraps = rows + columns - 1 > slots;
    const int first = wraps ? 0 : 1 - static_cast<int>(rows);
    const int count = static_cast<int>(wraps ? slots : rows + columns - 1);
    const int babies = static_cast<int>(std::ceil(std::sqrt(count)));
    std::set<int> used_babies;
    for (int k = 0; k < count; k++) {
        const int baby = k % babies, giant = first + k - baby;
        std::vector<Number> diagonal(slots); // rotated back
        bool any = false;
        for (std::size_t i = 0; i < rows; i++) {
            const std::size_t column = (i + slots + static_cast<std::size_t>(giant + baby)) % slots;
            if (column < columns && numbers[i * columns + column] != 0) {
                diagonal[(i + slots + static_cast<std::size_t>(giant)) % slots] =
                    numbers[i * columns + column];
                any = true;
            }
        }
        if (!any) {
            continue;
        }
        Plaintext plain = encoded(context, std::move(diagonal), scale, primes);
        if (!all_zero(plain.residues())) {
            body.giants[giant].emplace(baby, std::move(plain));
            used_babies.insert(baby);
        }
    }
    if (body.giants.empty()) {
        throw Error(
            "All entries of the matrix are 0, or vanish at its scale, and so would the product be, in "
            "the clear: there is nothing to compute.");
    }
    std::set<int> steps(used_babies);
    for (const auto &[giant, diagonals] : body.giants) {
        steps.insert(giant);
    }
    steps.erase(0);
    body.babies.assign(used_babies.begin(), used_babies.end());
    body.steps.assign(steps.begin(), steps.end());
}

} // namespace

Matrix::Matrix(std::shared_ptr<const Context> context, std::span<const double> numbers, std::size_t rows,
               std::size_t columns, double scale, unsigned primes)
{
    set_matrix(Inside::fill(*this), context, numbers, rows, columns, scale, primes);
}

Matrix::Matrix(std::shared_ptr<const Context> context, std::span<const std::int64_t> integers,
               std::size_t rows, std::size_t columns, unsigned primes)
{
    set_matrix(Inside::fill(*this), context, integers, rows, columns, 1, primes);
}

Matrix::~Matrix() = default;
Matrix::Matrix(Matrix &&) noexcept = default;
Matrix &Matrix::operator=(Matrix &&) noexcept = default;

const std::vector<int> &Matrix::steps() const
{
    return held(body_)->steps;
}

namespace
{

// The first term is the sum of those so far.
void accumulate(Ciphertext &sum, const Ciphertext &term)
{
    if (sum.empty()) {
        sum = term;
    } else {
        add(sum, term, sum);
    }
}

} // namespace

Ciphertext multiply(const Matrix &matrix, const Ciphertext &a, const EvaluationKeys &keys)
{
    const auto &body = Inside::body(matrix);
    const std::vector<Ciphertext> rotated = rotate_hoisted(a, body.babies, keys);
    Ciphertext total, term;
    for (const auto &[giant, diagonals] : body.giants) {
        Ciphertext sum;
        for (const auto &[baby, diagonal] : diagonals) {
            const auto place = std::lower_bound(body.babies.begin(), body.babies.end(), baby);
            multiply_plain(rotated[static_cast<std::size_t>(place - body.babies.begin())], diagonal, term);
            accumulate(sum, term);
        }
        rotate(sum, giant, keys, term);
        accumulate(total, term);
    }
    return total;
}

} // namespace ciphermote
