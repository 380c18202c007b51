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
//   use, as `inline` functions or templates. Code that one file needs is in an anonymous namespace.
// * The Python module of the same name (src/shoal/kernels/<family>/<file>.py) keeps the public function with its docstring
//   (types, shapes, cost). It allocates results whose size it can tell, makes strided inputs contiguous where callers
//   have such, and shares work among threads (`shoal.kernels.cores`).
// * Arguments: Span<T>, Table<T>, Cube<T> (1, 2 and 3 dimensions; `const T` where only read), Optional<view or struct>
//   where None may be given and nowhere else, i64, u64, double, bool, and structs for named tuples: a struct lists its
//   fields in order, as `using Fields = std::tuple<...>` and `static constexpr const char* names = "low, high"`. Arrays are
//   never copied or converted: another type, depth or layout raises TypeError. u8 also takes NumPy's booleans.
//   A kernel checks with `require_size` that lengths agree where a caller could get them wrong.
// * Results: void, i64, u64, double, bool, Array<T> and Grid<T> (arrays whose size only the kernel can tell), or a
//   std::tuple of these.
// * A kernel runs without the interpreter's lock, so it must not touch Python objects. It cannot be interrupted: Ctrl-C is
//   answered between calls, which is why long work is cut into calls of parts or blocks, as `cores.share` does.
// * Tests compare every kernel with a plain reference in Python. Kernels named `probe_...` let them reach functions that other
//   kernels inline; nothing else calls these.
// * Memory that runs out raises MemoryError (std::bad_alloc); allocate with Array, outside of inner loops.
// * Results are the same for every compiler, level and number of threads. Sums of floats keep the order of their loop;
//   never -ffast-math. Integer division and remainder of negative numbers round down in Python: use `floor_div`.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <tuple>

#include "array.hpp"

namespace shoal {

// What an argument should have been, and which argument it is: filled in by the loader that refuses.
struct Refusal {
    std::string argument;
    std::string expected;
    PyObject* given = nullptr;
};

namespace loading {

template <class T>
std::string type_name() {
    using V = std::remove_const_t<T>;
    if constexpr (std::is_same_v<V, bool>) return "bool";
    const char* kind = std::is_floating_point_v<V> ? "float" : std::is_unsigned_v<V> ? "uint" : "int";
    return kind + std::to_string(8 * sizeof(V));
}

// Whether a buffer's format, one letter of the struct module, denotes T. NumPy's booleans are bytes of 0 and 1.
template <class T>
bool is_format(const char* format, Py_ssize_t item) {
    using V = std::remove_const_t<T>;
    if (item != Py_ssize_t(sizeof(V)) || format == nullptr) return false;
    if (*format == '@' || *format == '=') ++format;
    if (*format == 0 || format[1] != 0) return false;
    const char* letters = std::is_floating_point_v<V> ? "fd"
        : std::is_same_v<V, u8>                       ? "B?"
        : std::is_unsigned_v<V>                       ? "BHILQN"
                                                      : "bhilqn";
    return std::strchr(letters, *format) != nullptr;
}

// Look at an array's memory. The caller's tuple of arguments keeps the array alive until the call is over.
template <class T, int depth>
bool load_array(PyObject* given, T*& data, i64 (&shape)[depth]) {
    Py_buffer buffer;
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
    if (PyObject_GetBuffer(given, &buffer, flags) != 0) {
        PyErr_Clear();
        return false;
    }
    bool fits = buffer.ndim == depth && is_format<T>(buffer.format, buffer.itemsize);
    if (fits) {
        data = static_cast<T*>(buffer.buf);
        for (int d = 0; d < depth; ++d) shape[d] = i64(buffer.shape[d]);
    }
    PyBuffer_Release(&buffer);
    return fits;
}

template <class T>
std::string array_name(int depth) {
    const char* shapes[] = {"", "(n,)", "(n, m)", "(n, m, l)"};
    const char* access = std::is_const_v<T> ? "a " : "a writable ";
    return access + ("contiguous array of " + type_name<T>()) + ", shape " + shapes[depth];
}

template <class A, class = void>
struct Loader;

template <class T>
struct Loader<Span<T>> {
    static std::string expected() { return array_name<T>(1); }
    static bool load(PyObject* given, Span<T>& out, Refusal&) {
        i64 shape[1];
        if (!load_array<T, 1>(given, out.data, shape)) return false;
        out.size = shape[0];
        return true;
    }
};

template <class T>
struct Loader<Table<T>> {
    static std::string expected() { return array_name<T>(2); }
    static bool load(PyObject* given, Table<T>& out, Refusal&) {
        i64 shape[2];
        if (!load_array<T, 2>(given, out.data, shape)) return false;
        out.rows = shape[0], out.columns = shape[1];
        return true;
    }
};

template <class T>
struct Loader<Cube<T>> {
    static std::string expected() { return array_name<T>(3); }
    static bool load(PyObject* given, Cube<T>& out, Refusal&) {
        i64 shape[3];
        if (!load_array<T, 3>(given, out.data, shape)) return false;
        out.tables = shape[0], out.rows = shape[1], out.columns = shape[2];
        return true;
    }
};

template <class View>
struct Loader<Optional<View>> {
    static std::string expected() { return Loader<View>::expected() + ", or None"; }
    static bool load(PyObject* given, Optional<View>& out, Refusal& refusal) {
        out.given = given != Py_None;
        return !out.given || Loader<View>::load(given, out.view, refusal);
    }
};

// NumPy's integers have __index__, as Python's do; floats do not.
template <class T>
struct Loader<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
    static std::string expected() { return std::is_signed_v<T> ? "an int" : "an int of at least 0"; }
    static bool load(PyObject* given, T& out, Refusal&) {
        PyObject* number = PyNumber_Index(given);
        if (number) {
            if constexpr (std::is_signed_v<T>) {
                long long value = PyLong_AsLongLong(number);
                out = T(value);
            } else {
                unsigned long long value = PyLong_AsUnsignedLongLong(number);
                out = T(value);
            }
            Py_DECREF(number);
        }
        if (!PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }
};

template <>
struct Loader<double> {
    static std::string expected() { return "a float"; }
    static bool load(PyObject* given, double& out, Refusal&) {
        out = PyFloat_AsDouble(given);
        if (out != -1.0 || !PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }
};

// Python's and NumPy's booleans, and nothing else that is true or false.
template <>
struct Loader<bool> {
    static std::string expected() { return "a bool"; }
    static bool load(PyObject* given, bool& out, Refusal&) {
        if (PyBool_Check(given)) {
            out = given == Py_True;
            return true;
        }
        const std::string name = nanobind::type_name(nanobind::handle((PyObject*)Py_TYPE(given))).c_str();
        if (name != "numpy.bool" && name != "numpy.bool_") return false;
        out = PyObject_IsTrue(given) == 1;
        return true;
    }
};

// Field number `at` of a comma-separated list of names.
inline std::string name_at(const char* names, std::size_t at) {
    std::string all(names);
    std::size_t start = 0;
    for (; at > 0; --at) {
        start = all.find(',', start);
        if (start == std::string::npos) return "?";
        ++start;
    }
    start = all.find_first_not_of(' ', start);
    return all.substr(start, all.find(',', start) - start);
}

inline std::size_t count_names(const char* names) {
    std::size_t count = *names != 0;
    for (; *names; ++names) count += *names == ',';
    return count;
}

// Load one value; where it does not fit, say which one it was. Structs inside it have done so already.
template <class A>
bool load_named(PyObject* given, A& out, const char* names, std::size_t at, Refusal& refusal) {
    if (Loader<A>::load(given, out, refusal)) return true;
    if (refusal.given) {
        refusal.argument = name_at(names, at) + "." + refusal.argument;
    } else {
        refusal.argument = name_at(names, at);
        refusal.expected = Loader<A>::expected();
        refusal.given = given;
    }
    return false;
}

// Named tuples become structs, field by field.
template <class S>
struct Loader<S, std::void_t<typename S::Fields>> {
    using Fields = typename S::Fields;
    static constexpr std::size_t SIZE = std::tuple_size_v<Fields>;

    static std::string expected() { return "a tuple of " + std::to_string(SIZE) + " (" + S::names + ")"; }
    static bool load(PyObject* given, S& out, Refusal& refusal) {
        if (!PyTuple_Check(given) || std::size_t(PyTuple_Size(given)) != SIZE) return false;
        return load_fields(given, out, refusal, std::make_index_sequence<SIZE>());
    }

private:
    template <std::size_t... I>
    static bool load_fields(PyObject* given, S& out, Refusal& refusal, std::index_sequence<I...>) {
        Fields fields;
        if (!(load_named(PyTuple_GetItem(given, I), std::get<I>(fields), S::names, I, refusal) && ...)) return false;
        out = S{std::get<I>(fields)...};
        return true;
    }
};

// Results as Python objects; arrays take their memory with them.
inline nanobind::object give(i64 value) { return nanobind::steal(PyLong_FromLongLong(value)); }
inline nanobind::object give(u64 value) { return nanobind::steal(PyLong_FromUnsignedLongLong(value)); }
inline nanobind::object give(double value) { return nanobind::steal(PyFloat_FromDouble(value)); }
inline nanobind::object give(bool value) { return nanobind::steal(PyBool_FromLong(value)); }

template <class T>
nanobind::object give_memory(Array<T>& values, std::initializer_list<std::size_t> shape) {
    T* memory = values.release();
    nanobind::capsule owner(memory, [](void* pointer) noexcept { std::free(pointer); });
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(memory, shape, owner));
}
template <class T>
nanobind::object give(Array<T>&& values) {
    std::size_t size = std::size_t(values.size);
    return give_memory(values, {size});
}
template <class T>
nanobind::object give(Grid<T>&& grid) {
    return give_memory(grid.values, {std::size_t(grid.rows), std::size_t(grid.columns)});
}
template <class... R>
nanobind::object give(std::tuple<R...>&& results) {
    return std::apply([](R&... each) { return nanobind::make_tuple(give(std::move(each))...); }, results);
}

// Try one function: true if the arguments fit, and then `result` is set. Otherwise `at` and `refusal` say what did not.
template <class R, class... A, std::size_t... I>
bool call_kernel(
    R (*kernel)(A...), const char* names, nanobind::handle arguments, nanobind::object& result, std::size_t& at,
    Refusal& refusal, std::index_sequence<I...>
) {
    std::tuple<std::decay_t<A>...> values;
    at = 0;
    if (!((load_named(PyTuple_GetItem(arguments.ptr(), I), std::get<I>(values), names, I, refusal) && (++at, true)) && ...))
        return false;
    if constexpr (std::is_void_v<R>) {
        nanobind::gil_scoped_release unlocked;
        kernel(std::get<I>(values)...);
    } else {
        auto run = [&] {
            nanobind::gil_scoped_release unlocked;
            return kernel(std::get<I>(values)...);
        };
        result = give(run());
    }
    return true;
}

// Describe an object as an array's type, shape and layout, or by the name of its type.
std::string describe(PyObject* given);

[[noreturn]] void refuse(const char* kernel, const Refusal& refusal);
[[noreturn]] void refuse_count(const char* kernel, std::size_t wanted, std::size_t given);
[[noreturn]] void refuse_size(const char* kernel, const char* argument, i64 given, i64 wanted);

}  // namespace loading

// Raise TypeError unless an array has so many entries: for arrays whose lengths must agree. Kernels may call it.
inline void require_size(const char* kernel, const char* argument, i64 given, i64 wanted) {
    if (given != wanted) loading::refuse_size(kernel, argument, given, wanted);
}

// Registers the kernels of one file when the module is loaded.
class Registration {
public:
    using Bind = void (*)(Registration&);

    explicit Registration(Bind bind) : bind_(bind), next_(first_) { first_ = this; }
    static void bind_all(nanobind::module_& module);

    // Offer functions under one name: the first whose types fit the arguments is called.
    template <class... K>
    void add(const char* name, const char* names, K... kernels) {
        refuse_second(name);
        static_assert(sizeof...(K) > 0);
        module_->def(name, [name, names, kernels...](nanobind::args arguments) {
            constexpr std::size_t wanted = argument_count(std::get<0>(std::tuple<K...>()));
            if (arguments.size() != wanted) loading::refuse_count(name, wanted, arguments.size());
            nanobind::object result = nanobind::none();
            Refusal worst;
            std::size_t furthest = 0;
            bool done = (try_kernel(kernels, names, arguments, result, furthest, worst) || ...);
            if (!done) loading::refuse(name, worst);
            return result;
        });
        if (loading::count_names(names) != argument_count(std::get<0>(std::tuple<K...>()))) refuse_names(name);
    }

private:
    template <class R, class... A>
    static constexpr std::size_t argument_count(R (*)(A...)) { return sizeof...(A); }

    // Of several functions that do not fit, report those that fitted for the most arguments.
    template <class R, class... A>
    static bool try_kernel(
        R (*kernel)(A...), const char* names, nanobind::handle arguments, nanobind::object& result,
        std::size_t& furthest, Refusal& worst
    ) {
        std::size_t at = 0;
        Refusal refusal;
        if (loading::call_kernel(kernel, names, arguments, result, at, refusal, std::index_sequence_for<A...>())) return true;
        if (!worst.given || at > furthest) {
            worst = refusal, furthest = at;
        } else if (at == furthest && worst.expected.find(refusal.expected) == std::string::npos) {
            worst.expected += " or " + refusal.expected;
        }
        return false;
    }
    void refuse_second(const char* name);
    [[noreturn]] void refuse_names(const char* name);

    Bind bind_;
    Registration* next_;
    nanobind::module_* module_ = nullptr;
    static inline Registration* first_ = nullptr;
};

// Begins the block at the end of a file that lists its kernels.
#define SHOAL_KERNELS                                                     \
    static void bind_kernels(::shoal::Registration& kernels);             \
    static ::shoal::Registration kernels_of_file(&bind_kernels);          \
    static void bind_kernels(::shoal::Registration& kernels)

}  // namespace shoal
