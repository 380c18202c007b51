// The module shoal.kernels._native: every kernel that a file registered, and the words of a TypeError.
#include "shared/bind.hpp"

namespace shoal {
namespace nb = nanobind;

namespace loading {

static std::string text(nb::handle value) { return nb::str(value).c_str(); }

std::string describe(PyObject* given) {
    nb::handle value(given);
    if (value.is_none()) return "None";
    if (!nb::hasattr(value, "dtype") || !nb::hasattr(value, "flags") || !nb::hasattr(value, "shape"))
        return text(value.type().attr("__name__"));
    nb::object flags = value.attr("flags");
    std::string layout = nb::cast<bool>(flags.attr("c_contiguous")) ? "" : "strided ";
    if (!nb::cast<bool>(flags.attr("writeable"))) layout = "read-only " + layout;
    return layout + "array of " + text(value.attr("dtype")) + ", shape " + text(value.attr("shape"));
}

void refuse(const char* kernel, const Refusal& refusal) {
    std::string message = std::string(kernel) + ": '" + refusal.argument + "' must be " + refusal.expected + ". Got " +
        describe(refusal.given) + ".";
    throw nb::type_error(message.c_str());
}

void refuse_count(const char* kernel, std::size_t wanted, std::size_t given) {
    std::string message =
        std::string(kernel) + " takes " + std::to_string(wanted) + " arguments. Got " + std::to_string(given) + ".";
    throw nb::type_error(message.c_str());
}

void refuse_size(const char* kernel, const char* argument, i64 given, i64 wanted) {
    std::string message = std::string(kernel) + ": '" + argument + "' must have " + std::to_string(wanted) + " entries. Got " +
        std::to_string(given) + ".";
    throw nb::type_error(message.c_str());
}

}  // namespace loading

void Registration::bind_all(nb::module_& module) {
    for (Registration* file = first_; file; file = file->next_) {
        file->module_ = &module;
        file->bind_(*file);
    }
}

void Registration::refuse_second(const char* name) {
    if (nb::hasattr(*module_, name)) throw nb::import_error((std::string("two kernels are named ") + name).c_str());
}

void Registration::refuse_names(const char* name) {
    throw nb::import_error((std::string("the names of the arguments do not fit kernel ") + name).c_str());
}

}  // namespace shoal

NB_MODULE(_native, module) {
    shoal::Registration::bind_all(module);
}
