// The module shoal.kernels._native: every kernel that a file registered, its arguments and results, and the words of a
// TypeError.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "shared/bind.hpp"

namespace shoal {
namespace nb = nanobind;

namespace binding {
namespace {

// Why a call is refused: which argument it is, what it must be, and what it is instead.
struct Refusal {
    std::string kernel;
    std::string argument;
    std::string expected;
    std::string given;
};

[[noreturn]] void raise(const Refusal& r) {
    throw nb::type_error((r.kernel + ": '" + r.argument + "' must " + r.expected + ". Got " + r.given + ".").c_str());
}

std::string array_name(const Type& type) {
    const char* shapes[] = {"", "(n,)", "(n, m)", "(n, m, l)"};
    const char* kind = type.element.kind == 'f' ? "float" : type.element.kind == 'u' ? "uint" : "int";
    return (type.writable ? "a writable " : "a ") + ("contiguous array of " + (kind + std::to_string(8 * type.element.bytes))) +
        ", shape " + shapes[type.depth];
}

std::string form_name(const Type& type) {
    switch (type.form) {
        case Form::INTEGER: return "an int";
        case Form::NATURAL: return "an int of at least 0";
        case Form::REAL: return "a float";
        case Form::FLAG: return "a bool";
        case Form::ARRAY: return array_name(type);
        default: return "a tuple of " + std::to_string(type.size) + " (" + type.names + ")";
    }
}

std::string expected(const Type& type) { return form_name(type) + (type.optional ? ", or None" : ""); }

// Slots that a value needs.
i64 count_slots(const Type& type) {
    i64 slots = type.optional;
    if (type.form != Form::TUPLE) return slots + 1;
    for (i64 i = 0; i < type.size; ++i) slots += count_slots(type.fields[i]);
    return slots;
}

i64 count_slots(const Kernel& kernel) {
    i64 slots = 0;
    for (i64 i = 0; i < kernel.arguments; ++i) slots += count_slots(kernel.types[i]);
    return slots;
}

// Whether a buffer's format, one letter of the struct module, denotes an element. NumPy's booleans are bytes of 0 and 1.
bool is_format(const char* format, Py_ssize_t item, Element element) {
    if (item != element.bytes || format == nullptr) return false;
    if (*format == '@' || *format == '=') ++format;
    if (*format == 0 || format[1] != 0) return false;
    const char* letters = element.kind == 'f'             ? "fd"
        : element.kind == 'u' && element.bytes == 1 ? "B?"
        : element.kind == 'u'                       ? "BHILQN"
                                                    : "bhilqn";
    return std::strchr(letters, *format) != nullptr;
}

bool is_aligned(const Py_buffer& buffer) {
    return buffer.len == 0 || reinterpret_cast<std::uintptr_t>(buffer.buf) % std::size_t(buffer.itemsize) == 0;
}

// Look at an array's memory. The caller's tuple of arguments keeps the array alive until the call is over.
bool load_array(const Type& type, PyObject* given, Slot& slot) {
    Py_buffer buffer;
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (type.writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(given, &buffer, flags) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool fits = buffer.ndim == type.depth && is_aligned(buffer) &&
        is_format(buffer.format, buffer.itemsize, type.element);
    if (fits) {
        slot.data = buffer.buf;
        for (int d = 0; d < type.depth; ++d) slot.shape[d] = i64(buffer.shape[d]);
    }
    PyBuffer_Release(&buffer);
    return fits;
}

// NumPy's integers have __index__, as Python's do; floats do not.
bool load_integer(bool natural, PyObject* given, Slot& slot) {
    PyObject* number = PyNumber_Index(given);
    if (number) {
        slot.integer = natural ? i64(PyLong_AsUnsignedLongLong(number)) : i64(PyLong_AsLongLong(number));
        Py_DECREF(number);
    }
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

bool load_real(PyObject* given, Slot& slot) {
    slot.real = PyFloat_AsDouble(given);
    if (slot.real != -1.0 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

// Python's and NumPy's booleans, and nothing else that is true or false.
bool load_flag(PyObject* given, Slot& slot) {
    if (!PyBool_Check(given)) {
        const std::string name = nb::type_name(nb::handle((PyObject*)Py_TYPE(given))).c_str();
        if (name != "numpy.bool" && name != "numpy.bool_") return false;
    }
    slot.integer = PyObject_IsTrue(given) == 1;
    return true;
}

// Field number `at` of a comma-separated list of names.
std::string name_at(const char* names, i64 at) {
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

i64 count_names(const char* names) {
    i64 count = *names != 0;
    for (; *names; ++names) count += *names == ',';
    return count;
}

std::string text(nb::handle value) { return nb::str(value).c_str(); }

bool is_true(nb::handle value) { return PyObject_IsTrue(value.ptr()) == 1; }

// Describe an array by its type, shape and layout, a number where one is expected by its value, all else by its type.
std::string describe(const Type& type, PyObject* given) {
    nb::handle value(given);
    if (value.is_none()) return "None";
    if ((type.form == Form::INTEGER || type.form == Form::NATURAL) && PyLong_CheckExact(given)) {
        // Python refuses to write very long numbers in digits.
        const bool fits = PyLong_AsLongLong(given) != -1 || !PyErr_Occurred();
        PyErr_Clear();
        return fits ? text(value) : "an int beyond 64 bits";
    }
    nb::object flags = nb::getattr(value, "flags", nb::none());
    if (!nb::hasattr(flags, "c_contiguous") || !nb::hasattr(value, "dtype") || !nb::hasattr(value, "shape"))
        return text(value.type().attr("__name__"));
    std::string layout = is_true(flags.attr("c_contiguous")) ? "" : "strided ";
    if (!is_true(nb::getattr(flags, "aligned", nb::bool_(true)))) layout = "unaligned " + layout;
    if (!is_true(nb::getattr(flags, "writeable", nb::bool_(true)))) layout = "read-only " + layout;
    return layout + "array of " + text(value.attr("dtype")) + ", shape " + text(value.attr("shape"));
}

bool load(const Type& type, PyObject* given, Slot*& slot, Refusal& refusal);

// Load values one after another: true if all fit. Otherwise `refusal` names the first that does not.
bool load_all(const Type* types, i64 count, PyObject* tuple, const char* names, Slot*& slot, Refusal& refusal) {
    for (i64 at = 0; at < count; ++at) {
        PyObject* given = PyTuple_GetItem(tuple, at);
        if (load(types[at], given, slot, refusal)) continue;
        const std::string name = name_at(names, at);
        if (refusal.argument.empty()) {
            refusal = {{}, name, "be " + expected(types[at]), describe(types[at], given)};
        } else {  // a field of this tuple was refused
            refusal.argument = name + "." + refusal.argument;
        }
        return false;
    }
    return true;
}

bool load_value(const Type& type, PyObject* given, Slot& slot) {
    switch (type.form) {
        case Form::INTEGER: return load_integer(false, given, slot);
        case Form::NATURAL: return load_integer(true, given, slot);
        case Form::REAL: return load_real(given, slot);
        case Form::FLAG: return load_flag(given, slot);
        default: return load_array(type, given, slot);
    }
}

// Fill in the next slots with one value; `slot` stops at the first that is not filled in.
bool load(const Type& type, PyObject* given, Slot*& slot, Refusal& refusal) {
    if (type.optional) {
        if (given == Py_None) {
            slot += count_slots(type);
            return true;
        }
        (slot++)->integer = 1;
    }
    if (type.form == Form::TUPLE) {
        if (!PyTuple_Check(given) || PyTuple_Size(given) != type.size) return false;
        return load_all(type.fields, type.size, given, type.names, slot, refusal);
    }
    if (!load_value(type, given, *slot)) return false;
    ++slot;
    return true;
}

// Check that the fields of tuples belong together, inner tuples first; raise a Refusal of the first that does not.
void check_all(const char* kernel, const Type* types, i64 count, const char* names, const Slot*& slot) {
    for (i64 at = 0; at < count; ++at) {
        const Type& type = types[at];
        if (type.optional && !slot->integer) {
            slot += count_slots(type);
            continue;
        }
        slot += type.optional;
        if (type.form != Form::TUPLE) {
            ++slot;
            continue;
        }
        const Slot* fields = slot;
        try {
            check_all(kernel, type.fields, type.size, type.names, slot);
            type.check(kernel, fields);
        } catch (Refusal& refusal) {
            refusal.argument = name_at(names, at) + "." + refusal.argument;
            throw;
        }
    }
}

// A result as a Python object; arrays take their memory with them.
nb::object give(Result& result) {
    switch (result.form) {
        case Form::INTEGER: return nb::steal(PyLong_FromLongLong(result.integer));
        case Form::NATURAL: return nb::steal(PyLong_FromUnsignedLongLong(u64(result.integer)));
        case Form::REAL: return nb::steal(PyFloat_FromDouble(result.real));
        case Form::FLAG: return nb::steal(PyBool_FromLong(long(result.integer)));
        default: break;
    }
    const char kind = result.element.kind;
    const auto code = kind == 'f' ? nb::dlpack::dtype_code::Float
        : kind == 'u'             ? nb::dlpack::dtype_code::UInt
                                  : nb::dlpack::dtype_code::Int;
    nb::capsule owner(result.memory, [](void* pointer) noexcept { std::free(pointer); });
    void* memory = std::exchange(result.memory, nullptr);
    const std::size_t shape[] = {std::size_t(result.shape[0]), std::size_t(result.shape[1])};
    const nb::dlpack::dtype type{u8(code), u8(8 * result.element.bytes), 1};
    return nb::cast(nb::ndarray<nb::numpy>(memory, result.depth, shape, owner, nullptr, type));
}

nb::object give(Results& results) {
    if (!results.many) return results.size ? give(results.values[0]) : nb::none();
    nb::object tuple = nb::steal(PyTuple_New(results.size));
    for (i64 i = 0; i < results.size; ++i) PyTuple_SetItem(tuple.ptr(), i, give(results.values[i]).release().ptr());
    return tuple;
}

// All functions of one name.
struct Overloads {
    std::string name;
    const char* names;
    std::vector<Kernel> kernels;
    i64 slots = 0;

    nb::object call(nb::handle arguments) const {
        const i64 wanted = kernels[0].arguments, given = i64(nb::len(arguments));
        if (given != wanted)
            throw nb::type_error(
                (name + " takes " + std::to_string(wanted) + " arguments. Got " + std::to_string(given) + ".").c_str());
        Refusal worst;
        i64 furthest = -1;
        for (const Kernel& kernel : kernels) {
            std::vector<Slot> values(slots);
            Slot* slot = values.data();
            Refusal refusal;
            if (!load_all(kernel.types, wanted, arguments.ptr(), names, slot, refusal)) {
                // Report those that fitted for the most arguments and fields.
                const i64 reached = slot - values.data();
                if (reached > furthest) {
                    worst = refusal, furthest = reached;
                } else if (
                    reached == furthest && refusal.argument == worst.argument &&
                    worst.expected.find(refusal.expected) == std::string::npos
                ) {
                    worst.expected += " or " + refusal.expected.substr(3);  // without "be "
                }
                continue;
            }
            return run(kernel, values);
        }
        worst.kernel = name;
        raise(worst);
    }

private:
    nb::object run(const Kernel& kernel, const std::vector<Slot>& values) const {
        Results results;
        try {
            const Slot* slot = values.data();
            check_all(name.c_str(), kernel.types, kernel.arguments, names, slot);
            nb::gil_scoped_release unlocked;
            kernel.run(kernel.function, values.data(), results);
        } catch (const Refusal& refusal) {
            raise(refusal);
        }
        return give(results);
    }
};

}  // namespace
}  // namespace binding

void refuse_index(i64 index, i64 size) {
    throw std::out_of_range("index " + std::to_string(index) + " of an array of " + std::to_string(size));
}

void refuse_slice(i64 start, i64 stop, i64 size) {
    throw std::out_of_range(
        "slice " + std::to_string(start) + ":" + std::to_string(stop) + " of an array of " + std::to_string(size));
}

namespace {

[[noreturn]] void refuse(
    const char* kernel, const char* argument, const std::string& expected, const std::string& given
) {
    throw binding::Refusal{kernel, argument, expected, given};
}

std::string count_entries(i64 count) { return std::to_string(count) + (count == 1 ? " entry" : " entries"); }

}  // namespace

void require_size(const char* kernel, const char* argument, i64 given, i64 wanted) {
    if (given != wanted) refuse(kernel, argument, "have " + count_entries(wanted), std::to_string(given));
}

void require_room(const char* kernel, const char* argument, i64 given, i64 least) {
    if (given < least) refuse(kernel, argument, "have at least " + count_entries(least), std::to_string(given));
}

void require_number(const char* kernel, const char* argument, i64 given, i64 least, i64 most) {
    if (given >= least && given <= most) return;
    const std::string low = std::to_string(least);
    const std::string range = most == NO_LIMIT ? "at least " + low : "from " + low + " to " + std::to_string(most);
    refuse(kernel, argument, "be " + range, std::to_string(given));
}

void require_range(const char* kernel, i64 start, i64 stop, i64 size) {
    require_number(kernel, "start", start, 0, size);
    require_number(kernel, "stop", stop, start, size);
}

void require_starts(const char* kernel, const char* argument, Span<const i64> starts, i64 size) {
    require_room(kernel, argument, starts.size, 1);
    i64 before = 0;
    for (i64 g = 0; g < starts.size; ++g) {
        if (starts[g] < before || starts[g] > size)
            refuse(
                kernel, argument, "ascend from 0 to at most " + std::to_string(size),
                std::to_string(starts[g]) + " at place " + std::to_string(g));
        before = starts[g];
    }
}

void Registration::bind_all(void* module) {
    for (Registration* file = first_; file; file = file->next_) {
        file->module_ = module;
        file->bind_(*file);
    }
}

void Registration::define(const char* name, const char* names, const binding::Kernel* kernels, i64 count) {
    auto& module = *static_cast<nb::module_*>(module_);
    if (nb::hasattr(module, name)) throw nb::import_error((std::string("two kernels are named ") + name).c_str());
    binding::Overloads overloads{name, names, {kernels, kernels + count}};
    for (const binding::Kernel& kernel : overloads.kernels) {
        if (kernel.arguments != binding::count_names(names))
            throw nb::import_error((std::string("the names of the arguments do not fit kernel ") + name).c_str());
        overloads.slots = larger(overloads.slots, binding::count_slots(kernel));
    }
    module.def(name, [overloads = std::move(overloads)](nb::args arguments) { return overloads.call(arguments); });
}

}  // namespace shoal

NB_MODULE(_native, module) {
    shoal::Registration::bind_all(&module);
}
