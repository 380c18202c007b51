// How Python calls kernels.
//
// Conventions, for every file under native/:
//
// * One folder a family, as in src/shoal/kernels. A .cpp file holds kernels that Python calls and ends with
//       SHOAL_KERNELS {
//           kernels.add("histograms", "rows, offsets, values, card", &histograms);
//           kernels.add("pack_block", "codes, radices, keys, start, stop", &pack_block<i32>, &pack_block<i64>);
//       }
//   which registers them in `shoal.kernels._native`; no list has to be kept. Names are unique in the whole module. Several
//   functions under one name are tried in order: one for each combination of types. A .hpp file holds what other files
//   use: templates and short `inline` functions, and the names of longer functions, which the .cpp file of the same name
//   defines. Code that one file needs is in an anonymous namespace.
// * The Python module of the same name (src/shoal/kernels/<family>/<file>.py) keeps the public function with its docstring
//   (types, shapes, cost). It allocates results whose size it can tell, makes strided inputs contiguous where callers
//   have such, and shares work among threads (`shoal.kernels.cores`).
// * Arguments: Span<T>, Table<T>, Cube<T> (1, 2 and 3 dimensions; `const T` where only read), Optional<view or struct>
//   where None may be given and nowhere else, i64, u64, double, bool, and structs for named tuples: a struct lists its
//   fields in order, as `using Fields = std::tuple<...>` and `static constexpr const char* names = "low, high"`. Arrays are
//   never copied or converted: another type, depth or layout raises TypeError. u8 also takes NumPy's booleans.
// * Shapes are checked before anything is read, by the `require_...` functions below: in kernels, and for the fields of
//   a struct in its `void check(const char* kernel) const`, which the binding calls and which names fields alone. Values
//   in arrays are trusted, because they come from our own coding: codes, rows and classes are in range. Checks cost at
//   most a look at every group, never at every row; only ids that users' methods may give are checked one by one.
// * Results: void, i64, u64, double, bool, Array<T> and Grid<T> (arrays whose size only the kernel can tell), or a
//   std::tuple of up to six of these.
// * A kernel runs without the interpreter's lock, so it must not touch Python objects. It cannot be interrupted: Ctrl-C is
//   answered between calls, which is why long work is cut into calls of parts or blocks, as `cores.share` does.
// * Tests compare every kernel with a plain reference in Python. Kernels named `probe_...` let them reach functions that other
//   kernels inline; nothing else calls these.
// * Memory that runs out raises MemoryError (std::bad_alloc); allocate with Array, outside of inner loops.
// * Results are the same for every compiler, level and number of threads. Sums of floats keep the order of their loop;
//   never -ffast-math. Integer division and remainder of negative numbers round down in Python: use `floor_div`.
//
// This header includes neither Python nor nanobind, and its templates only unpack arguments that module.cpp has loaded by a
// table of their types: every kernel instantiates them, so that they decide how long the build takes.
#pragma once
#include <string>
#include <tuple>

#include "array.hpp"

namespace shoal {
namespace binding {

enum class Form : u8 { INTEGER, NATURAL, REAL, FLAG, ARRAY, TUPLE };

// Elements of arrays: as in NumPy, 'i', 'u' or 'f' and the number of bytes.
struct Element {
    char kind;
    u8 bytes;
};

template <class T>
constexpr Element element_of{std::is_floating_point_v<T> ? 'f' : std::is_unsigned_v<T> ? 'u' : 'i', sizeof(T)};

struct Slot;

// The type of an argument. element, depth, writable: of arrays; fields, size, names, check: of tuples.
struct Type {
    Form form;
    Element element{};
    u8 depth = 0;
    bool writable = false;
    bool optional = false;
    const Type* fields = nullptr;
    i64 size = 0;
    const char* names = nullptr;
    void (*check)(const char* kernel, const Slot* fields) = nullptr;
};

// A loaded argument: an array's memory and shape, a number, or 1 where an optional argument was given. Optional arguments
// have one more slot, tuples as many as their fields.
struct Slot {
    void* data = nullptr;
    i64 shape[3] = {};
    i64 integer = 0;
    double real = 0.0;
};

// The type of an argument, and how to take it from the next slots.
template <class A, class = void>
struct Argument;

template <>
struct Argument<i64> {
    static constexpr Type type{Form::INTEGER};
    static i64 take(const Slot*& slot) { return (slot++)->integer; }
};

template <>
struct Argument<u64> {
    static constexpr Type type{Form::NATURAL};
    static u64 take(const Slot*& slot) { return u64((slot++)->integer); }
};

template <>
struct Argument<double> {
    static constexpr Type type{Form::REAL};
    static double take(const Slot*& slot) { return (slot++)->real; }
};

template <>
struct Argument<bool> {
    static constexpr Type type{Form::FLAG};
    static bool take(const Slot*& slot) { return (slot++)->integer != 0; }
};

template <class T>
constexpr Type array_type(u8 depth) {
    return {Form::ARRAY, element_of<std::remove_const_t<T>>, depth, !std::is_const_v<T>};
}

template <class T>
struct Argument<Span<T>> {
    static constexpr Type type = array_type<T>(1);
    static Span<T> take(const Slot*& slot) {
        const Slot& s = *slot++;
        return {static_cast<T*>(s.data), s.shape[0]};
    }
};

template <class T>
struct Argument<Table<T>> {
    static constexpr Type type = array_type<T>(2);
    static Table<T> take(const Slot*& slot) {
        const Slot& s = *slot++;
        return {static_cast<T*>(s.data), s.shape[0], s.shape[1]};
    }
};

template <class T>
struct Argument<Cube<T>> {
    static constexpr Type type = array_type<T>(3);
    static Cube<T> take(const Slot*& slot) {
        const Slot& s = *slot++;
        return {static_cast<T*>(s.data), s.shape[0], s.shape[1], s.shape[2]};
    }
};

constexpr Type optional_type(Type type) {
    type.optional = true;
    return type;
}

template <class View>
struct Argument<Optional<View>> {
    static constexpr Type type = optional_type(Argument<View>::type);
    static Optional<View> take(const Slot*& slot) {
        const bool given = (slot++)->integer != 0;
        return {Argument<View>::take(slot), given};
    }
};

// Named tuples become structs. Values in braces are taken from left to right; those in parentheses need not be.
template <class S, class Fields>
struct Record;

template <class S, class = void>
constexpr bool has_check = false;

template <class S>
constexpr bool has_check<S, std::void_t<decltype(std::declval<const S&>().check(""))>> = true;

template <class S, class... F>
struct Record<S, std::tuple<F...>> {
    static S take(const Slot*& slot) { return S{Argument<F>::take(slot)...}; }
    static void check([[maybe_unused]] const char* kernel, [[maybe_unused]] const Slot* fields) {
        if constexpr (has_check<S>) take(fields).check(kernel);
    }

    static constexpr Type fields[] = {Argument<F>::type...};
    static constexpr Type type{Form::TUPLE, {}, 0, false, false, fields, sizeof...(F), S::names, &check};
};

template <class S>
struct Argument<S, std::void_t<typename S::Fields>> : Record<S, typename S::Fields> {};

// A result that becomes a Python object once the interpreter's lock is held again; arrays own their memory until then.
struct Result {
    Form form;
    Element element{};
    u8 depth = 0;
    void* memory = nullptr;
    i64 shape[2] = {};
    i64 integer = 0;
    double real = 0.0;
};

// What a kernel returns: nothing, one value, or a tuple of them.
class Results {
public:
    static constexpr i64 ROOM = 6;

    Results() = default;
    Results(const Results&) = delete;
    ~Results() {
        for (i64 i = 0; i < size; ++i) std::free(values[i].memory);
    }

    void add(i64 value) { next(Form::INTEGER).integer = value; }
    void add(u64 value) { next(Form::NATURAL).integer = i64(value); }
    void add(double value) { next(Form::REAL).real = value; }
    void add(bool value) { next(Form::FLAG).integer = value; }
    template <class T>
    void add(Array<T>&& array) {
        const i64 length = array.size;
        add_memory(array.release(), element_of<T>, 1, length, 0);
    }
    template <class T>
    void add(Grid<T>&& grid) {
        add_memory(grid.values.release(), element_of<T>, 2, grid.rows, grid.columns);
    }
    template <class... R>
    void add(std::tuple<R...>&& results) {
        static_assert(sizeof...(R) <= ROOM);
        many = true;
        std::apply([this](R&... each) { (add(std::move(each)), ...); }, results);
    }

    Result values[ROOM];
    i64 size = 0;
    bool many = false;

private:
    Result& next(Form form) {
        values[size] = {form};
        return values[size++];
    }
    void add_memory(void* memory, Element element, u8 depth, i64 rows, i64 columns) {
        next(Form::ARRAY) = {Form::ARRAY, element, depth, memory, {rows, columns}};
    }
};

// Calls a function in its constructor, because arguments in braces are taken in order.
template <class R, class... A>
struct Call {
    Call(R (*kernel)(A...), Results& results, std::decay_t<A>... values) {
        if constexpr (std::is_void_v<R>) kernel(values...);
        else results.add(kernel(values...));
    }
};

// A function behind a type that all have in common.
struct Kernel {
    using Any = void (*)();

    Any function;
    void (*run)(Any function, const Slot* slots, Results& results);
    const Type* types;
    i64 arguments;
};

template <class R, class... A>
struct Signature {
    static constexpr Type types[] = {Argument<std::decay_t<A>>::type...};

    static void run(Kernel::Any function, const Slot* slots, Results& results) {
        Call<R, A...>{reinterpret_cast<R (*)(A...)>(function), results, Argument<std::decay_t<A>>::take(slots)...};
    }
};

template <class R, class... A>
Kernel erase(R (*kernel)(A...)) {
    using S = Signature<R, A...>;
    return {reinterpret_cast<Kernel::Any>(kernel), &S::run, S::types, sizeof...(A)};
}

}  // namespace binding

// Raise TypeError unless an array has so many entries: for arrays whose lengths must agree.
void require_size(const char* kernel, const char* argument, i64 given, i64 wanted);

// Raise TypeError unless an array has at least so many entries: for buffers that may have more room than is used.
void require_room(const char* kernel, const char* argument, i64 given, i64 least);

// Raise TypeError unless a table has so many rows and columns.
template <class T>
void require_shape(const char* kernel, const std::string& argument, Table<T> given, i64 rows, i64 columns) {
    require_size(kernel, argument.c_str(), given.rows, rows);
    require_size(kernel, (argument + (argument.back() == 's' ? "' columns" : "'s columns")).c_str(), given.columns, columns);
}

// Raise TypeError unless a number is in a range, both ends included.
void require_number(const char* kernel, const char* argument, i64 given, i64 least, i64 most);

// Raise TypeError unless the arguments `start` and `stop` are a part of an array of so many entries.
void require_range(const char* kernel, i64 start, i64 stop, i64 size);

// Raise TypeError unless an array tells where groups begin, and the last one ends, in an array of so many entries.
void require_starts(const char* kernel, const char* argument, Span<const i64> starts, i64 size);

constexpr i64 NO_LIMIT = std::numeric_limits<i64>::max();

// Registers the kernels of one file when the module is loaded.
class Registration {
public:
    using Bind = void (*)(Registration&);

    explicit Registration(Bind bind) : bind_(bind), next_(first_) { first_ = this; }
    // `module` is a nanobind::module_.
    static void bind_all(void* module);

    // Offer functions under one name: the first whose types fit the arguments is called.
    template <class... K>
    void add(const char* name, const char* names, K... kernels) {
        const binding::Kernel all[] = {binding::erase(kernels)...};
        define(name, names, all, sizeof...(K));
    }

private:
    void define(const char* name, const char* names, const binding::Kernel* kernels, i64 count);

    Bind bind_;
    Registration* next_;
    void* module_ = nullptr;
    static inline Registration* first_ = nullptr;
};

// Begins the block at the end of a file that lists its kernels.
#define SHOAL_KERNELS                                                     \
    static void bind_kernels(::shoal::Registration& kernels);             \
    static ::shoal::Registration kernels_of_file(&bind_kernels);          \
    static void bind_kernels(::shoal::Registration& kernels)

}  // namespace shoal
