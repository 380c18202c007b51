// Arrays that Python owns (Span, Table, Cube) and arrays that a kernel allocates (Array, Grid).
//
// Views are two or three words and are passed by value. `Span<const T>` is read, `Span<T>` is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace shoal {

using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

[[noreturn]] void refuse_index(i64 index, i64 size);
[[noreturn]] void refuse_slice(i64 start, i64 stop, i64 size);

// Raise IndexError for an index that is out of range, in builds with SHOAL_CHECK. Other builds trust kernels.
inline void check_index([[maybe_unused]] i64 index, [[maybe_unused]] i64 size) {
#ifdef SHOAL_CHECK
    if (index < 0 || index >= size) refuse_index(index, size);
#endif
}

// A slice may be empty at the end of its array.
inline void check_slice([[maybe_unused]] i64 start, [[maybe_unused]] i64 stop, [[maybe_unused]] i64 size) {
#ifdef SHOAL_CHECK
    if (start < 0 || stop < start || stop > size) refuse_slice(start, stop, size);
#endif
}

// A one-dimensional array.
template <class T>
struct Span {
    T* data = nullptr;
    i64 size = 0;

    T& operator[](i64 i) const { check_index(i, size); return data[i]; }
    Span slice(i64 start, i64 stop) const { check_slice(start, stop, size); return {data + start, stop - start}; }
    Span from(i64 start) const { return slice(start, size); }
    void fill(T value) const { for (i64 i = 0; i < size; ++i) data[i] = value; }
    // Copy as many values as this span has from the beginning of another.
    void copy(Span<const T> other) const { for (i64 i = 0; i < size; ++i) data[i] = other[i]; }
    bool any() const { for (i64 i = 0; i < size; ++i) if (data[i]) return true; return false; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    operator Span<const T>() const { return {data, size}; }
};

// A two-dimensional array in C order.
template <class T>
struct Table {
    T* data = nullptr;
    i64 rows = 0, columns = 0;

    T& operator()(i64 i, i64 j) const { check_index(i, rows); check_index(j, columns); return data[i * columns + j]; }
    Span<T> operator[](i64 i) const { check_index(i, rows); return {data + i * columns, columns}; }
    Table slice(i64 start, i64 stop) const {
        check_slice(start, stop, rows);
        return {data + start * columns, stop - start, columns};
    }
    Span<T> flat() const { return {data, rows * columns}; }
    operator Table<const T>() const { return {data, rows, columns}; }
};

// A three-dimensional array in C order.
template <class T>
struct Cube {
    T* data = nullptr;
    i64 tables = 0, rows = 0, columns = 0;

    Table<T> operator[](i64 i) const { check_index(i, tables); return {data + i * rows * columns, rows, columns}; }
    T& operator()(i64 i, i64 j, i64 k) const { return (*this)[i](j, k); }
    operator Cube<const T>() const { return {data, tables, rows, columns}; }
};

// An argument that may be None: `if (subjects) use((*subjects)[row])`.
template <class View>
struct Optional {
    View view{};
    bool given = false;

    explicit operator bool() const { return given; }
    const View& operator*() const { return view; }
    const View* operator->() const { return &view; }
};

// Memory of a kernel's own, freed at the end of its block or handed to Python as a result. Not initialised unless a
// value is given. Raises MemoryError where there is none.
template <class T>
class Array {
public:
    static_assert(std::is_trivially_copyable_v<T>);

    Array() = default;
    explicit Array(i64 size) : size(size), data(allocate(nullptr, size)) {}
    Array(i64 size, T value) : Array(size) { span().fill(value); }
    explicit Array(Span<const T> other) : Array(other.size) { span().copy(other); }
    Array(Array&& other) noexcept : size(other.size), data(other.data) { other.data = nullptr, other.size = 0; }
    Array& operator=(Array&& other) noexcept {
        std::swap(size, other.size);
        std::swap(data, other.data);
        return *this;
    }
    ~Array() { std::free(data); }

    T& operator[](i64 i) const { check_index(i, size); return data[i]; }
    Span<T> span() const { return {data, size}; }
    Span<T> slice(i64 start, i64 stop) const { return span().slice(start, stop); }
    Span<T> from(i64 start) const { return span().from(start); }
    void fill(T value) const { span().fill(value); }
    operator Span<T>() const { return span(); }
    operator Span<const T>() const { return {data, size}; }
    T* begin() const { return data; }
    T* end() const { return data + size; }

    // Change the size; values up to the smaller size stay.
    void resize(i64 wanted) {
        data = allocate(data, wanted);
        size = wanted;
    }
    // Give the memory away; whoever takes it calls `free`.
    T* release() {
        size = 0;
        return std::exchange(data, nullptr);
    }

    i64 size = 0;
    T* data = nullptr;

private:
    static T* allocate(T* old, i64 size) {
        if (size < 0 || u64(size) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_alloc();
        void* memory = std::realloc(static_cast<void*>(old), sizeof(T) * std::size_t(size > 0 ? size : 1));
        if (!memory) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
};

// A two-dimensional array of a kernel's own.
template <class T>
struct Grid {
    Array<T> values;
    i64 rows = 0, columns = 0;

    Grid() = default;
    Grid(i64 rows, i64 columns) : values(rows * columns), rows(rows), columns(columns) {}
    Grid(i64 rows, i64 columns, T value) : values(rows * columns, value), rows(rows), columns(columns) {}

    T& operator()(i64 i, i64 j) const { return table()(i, j); }
    Span<T> operator[](i64 i) const { return table()[i]; }
    Table<T> table() const { return {values.data, rows, columns}; }
    operator Table<T>() const { return table(); }
    operator Table<const T>() const { return table(); }
};

// Division and remainder that round down, as Python's do; C++ rounds towards zero.
inline i64 floor_div(i64 a, i64 b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
inline i64 floor_mod(i64 a, i64 b) { return a - floor_div(a, b) * b; }

template <class T> inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> inline T larger(T a, T b) { return b > a ? b : a; }

}  // namespace shoal

#if defined(__GNUC__)
namespace shoal {
// Number of set bits.
inline i64 popcount(u64 word) { return __builtin_popcountll(word); }
}  // namespace shoal
#else
#error "Kernels are built with GCC or Clang."
#endif

// Compile a function twice, for every x86-64 processor and for those since about 2015 (AVX2), and choose when the module
// is loaded. It pays for loops over whole columns. It cannot be put on a template: give it to functions that call one.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(SHOAL_CHECK) && !defined(SHOAL_NO_CLONES)
#if __has_attribute(target_clones) && (!defined(__clang__) || __clang_major__ >= 17)
#define SHOAL_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#endif
#ifndef SHOAL_CLONES
#define SHOAL_CLONES
#endif
