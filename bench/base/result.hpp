// Errors are values: a Result holds what was asked for, or an Error that names the operation and its object.
// It has the names of std::expected, which the oldest supported compilers (g++ 11) lack.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tacholog {

struct Error {
    std::string text;  ///< one line, no full stop: "connect 127.0.0.1:7420: Connection refused"
};

/// The error of a system call that has just failed.
Error os_error(const std::string& operation, int code = errno);

/// Errors are rare: the compiler keeps what handles them out of the way of what each message passes through.
inline bool probably(bool is_true) {
    return __builtin_expect(static_cast<long>(is_true), 1L) != 0;
}

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return probably(held_.index() == 0); }
    explicit operator bool() const { return has_value(); }

    T& value() { return *std::get_if<0>(&held_); }
    const T& value() const { return *std::get_if<0>(&held_); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return *std::get_if<1>(&held_); }

private:
    std::variant<T, Error> held_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool has_value() const { return probably(!error_.has_value()); }
    explicit operator bool() const { return has_value(); }
    const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;
};

/// Does the work, whose result is a Result. What libraries throw, such as for want of memory or threads, becomes an
/// error.
template <typename Work>
auto without_exceptions(Work&& work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return Error{"out of memory"};
    } catch (const std::exception& problem) {
        return Error{problem.what()};
    }
}

}  // namespace tacholog
