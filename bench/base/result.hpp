// Errors are values: a Result holds either the requested value, or an Error that names the operation and its object.
// The names are those of std::expected, which the oldest supported compiler (g++ 11) does not have.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tacholog {

/// The meaning of an error for the calling code. Only an error that some caller treats differently has its own code.
enum class Code {
    other,
    control_port,       ///< the control port cannot be opened, or no publisher listens there
    peer,               ///< the error is about a control channel; Error::channel says which one
    peer_gave_up,       ///< like `peer`; the peer has sent the reason why it gave up or refused
    another_publisher,  ///< another publisher of this run has failed; its error says why
    killed,             ///< a signal has killed a helper program
};

/// The text is for people; code compares only `code`.
struct Error {
    std::string text;  ///< one line, no full stop: "connect 127.0.0.1:7420: Connection refused"
    Code code = Code::other;
    int channel = -1;  ///< the descriptor of the control channel that the error is about; -1: none
};

/// The error of the system call that has just failed.
Error os_error(const std::string& operation, int code = errno);

/// Errors are rare. This lets the compiler place the error handling away from the code that each message runs through.
inline bool probably(bool is_true) {
    return __builtin_expect(static_cast<long>(is_true), 1L) != 0;
}

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return probably(held_.index() == 0); }
    /// Not available if the value itself is a bool or an enum: it would be unclear what `if (result)` tests.
    explicit operator bool() const
        requires(!std::is_same_v<T, bool> && !std::is_enum_v<T>)
    {
        return has_value();
    }

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

/// How an attempt with a time limit ended if there was no error.
enum class Done {
    not_yet,  ///< the time limit has passed; another attempt may succeed
    yes,
};

constexpr Done done_if(bool is_done) {
    return is_done ? Done::yes : Done::not_yet;
}

/// The next two functions return false if the attempt has ended with an error.
inline bool is_done(const Result<Done>& attempt) {
    return attempt.has_value() && *attempt == Done::yes;
}
inline bool is_not_yet_done(const Result<Done>& attempt) {
    return attempt.has_value() && *attempt == Done::not_yet;
}

/// Calls `work`, which returns a Result. Turns an exception of a library (no memory, no more threads) into an error.
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
