// A transport over Unix sockets with all the needs that a middleware may have, for tests of how the rig meets them. The
// settings of `needy` choose its needs; `needy-once` can be started only once in a process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "machine/helper_program.hpp"
#include "transports/transport.hpp"

namespace tacholog::transports {

extern const Transport uds;

namespace {

constexpr std::array settings{
    Setting{
        .name = "match",
        .values = "at-once|late|never",
        .default_value = "at-once",
        .meaning = "late: the publisher waits for the subscriber's match, and the other way round; never: it waits"},
    Setting{.name = "companion",
            .values = "none|alive|dies|missing",
            .default_value = "none",
            .meaning = "whether the run needs a program, and what becomes of it"},
    Setting{.name = "daemon",
            .values = "running|stopped",
            .default_value = "running",
            .meaning = "whether something that must be there before is there"},
};

/// The path of a file that one side leaves for the other.
std::filesystem::path mark_of(const Topic& topic, const char* side) {
    return std::filesystem::temp_directory_path() / (topic.channel + side);
}

class NeedyPublisher final : public Publisher {
public:
    NeedyPublisher(const Topic& topic, std::unique_ptr<Publisher> inner)
        : Publisher(topic.max_bytes), topic_(topic), inner_(std::move(inner)) {}

    Result<Done> match(Patience patience) override {
        const std::string when = value_of(topic_.settings, "match");
        if (when == "at-once") return Done::yes;
        const Deadline deadline{patience};
        while (when == "never" || !std::filesystem::exists(mark_of(topic_, ".sub"))) {
            if (deadline.passed()) return Done::not_yet;
            ::usleep(1000);
        }
        std::ofstream{mark_of(topic_, ".pub")} << "here";
        return Done::yes;
    }

    Facts facts() const override {
        return {{std::string{library_key}, "Needy"},
                {std::string{library_version_key}, "1.2.3"},
                {"companion", topic_.companion}};
    }

private:
    Result<std::span<std::byte>> acquire(std::size_t bytes) override {
        auto loan = inner_->loan(bytes);
        if (!loan) return loan.error();
        loan_.emplace(std::move(*loan));
        return loan_->bytes();
    }
    Result<Done> commit(Patience patience) override { return loan_->publish(patience); }
    void abandon() noexcept override { loan_.reset(); }

    Topic topic_;
    std::unique_ptr<Publisher> inner_;
    std::optional<Loan> loan_;
};

class NeedySubscriber final : public Subscriber {
public:
    NeedySubscriber(const Topic& topic, std::unique_ptr<Subscriber> inner) : topic_(topic), inner_(std::move(inner)) {}
    ~NeedySubscriber() override {
        for (const char* side : {".sub", ".pub"}) {
            std::error_code ignored;
            std::filesystem::remove(mark_of(topic_, side), ignored);
        }
    }

    std::string endpoint() const override { return inner_->endpoint(); }

    Result<Done> match(Patience patience) override {
        if (value_of(topic_.settings, "match") != "at-once") {
            std::ofstream{mark_of(topic_, ".sub")} << "here";
            const Deadline deadline{patience};
            while (!std::filesystem::exists(mark_of(topic_, ".pub"))) {
                if (deadline.passed()) return Done::not_yet;
                ::usleep(1000);
            }
        }
        return inner_->match(patience);
    }

private:
    Result<std::span<const std::byte>> receive(Patience patience) override {
        auto sample = inner_->take(patience);
        if (!sample) return sample.error();
        if (!*sample) return std::span<const std::byte>{};
        sample_.emplace(std::move(**sample));
        return sample_->bytes();
    }
    void release() noexcept override { sample_.reset(); }

    Topic topic_;
    std::unique_ptr<Subscriber> inner_;
    std::optional<Sample> sample_;
};

Result<std::unique_ptr<Subscriber>> subscribe(const Topic& topic) {
    auto inner = uds.subscribe(topic);
    if (!inner) return inner.error();
    return std::unique_ptr<Subscriber>{std::make_unique<NeedySubscriber>(topic, std::move(*inner))};
}

Result<std::unique_ptr<Publisher>> advertise(const Topic& topic, const Endpoints& endpoints) {
    auto inner = uds.advertise(topic, endpoints);
    if (!inner) return inner.error();
    return std::unique_ptr<Publisher>{std::make_unique<NeedyPublisher>(topic, std::move(*inner))};
}

class Sleeper final : public Companion {
public:
    Sleeper(PrivateFolder folder, std::unique_ptr<HelperProgram> program)
        : folder_(std::move(folder)), program_(std::move(program)) {}

    std::string address() const override { return folder_.path(); }
    Facts facts() const override {
        return {{"name", "sleeper"},
                {"version", first_line_of({"/bin/sh", "-c", "echo sleeper 1.0"})},
                {"command", program_->command()},
                {"pid", std::to_string(program_->pid())}};
    }
    std::optional<std::string> trouble() const override { return program_->trouble(); }

private:
    PrivateFolder folder_;
    std::unique_ptr<HelperProgram> program_;
};

Result<std::unique_ptr<Companion>> start_companion(const RunPlan& plan) {
    const std::string wanted = value_of(plan.settings, "companion");
    if (wanted == "none" || !plan.publishes) return std::unique_ptr<Companion>{};
    const auto shell = find_program(wanted == "missing" ? "no-such-broker" : "sh", "the-broker");
    if (!shell) return shell.error();
    auto folder = PrivateFolder::make();
    if (!folder) return folder.error();
    const std::string last = wanted == "dies" ? "sleep 0.2; echo out of order" : "exec sleep 1000";
    auto program = HelperProgram::start({{*shell, "-c", "echo ready; " + last}}, *folder, [](const HelperProgram& one) {
        return one.output().find("ready") != std::string::npos;
    });
    if (!program) return program.error();
    return std::unique_ptr<Companion>{std::make_unique<Sleeper>(std::move(*folder), std::move(*program))};
}

Result<void> ready(const RunPlan& plan) {
    if (value_of(plan.settings, "daemon") == "running") return {};
    return Error{"needyd is not running: start it with needyd --now"};
}

/// Fails if a second case begins in this process, like a library that can be started only once.
Result<void> start_once(const Topic& topic) {
    static std::string started;
    const std::string of_case = topic.channel.substr(0, topic.channel.rfind('-'));
    if (started.empty()) started = of_case;
    return started == of_case ? Result<void>{} : Error{"this library was started twice in a process"};
}

Result<std::unique_ptr<Subscriber>> subscribe_once(const Topic& topic) {
    if (auto fine = start_once(topic); !fine) return fine.error();
    return uds.subscribe(topic);
}

Result<std::unique_ptr<Publisher>> advertise_once(const Topic& topic, const Endpoints& endpoints) {
    if (auto fine = start_once(topic); !fine) return fine.error();
    if (topic.max_bytes == 666) std::abort();
    return uds.advertise(topic, endpoints);
}

}  // namespace

extern const Transport needy{
    .name = "needy",
    .summary = "Unix sockets with the needs of a middleware; for tests",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe,
    .advertise = advertise,
    .settings = settings,
    .way = Way::local,
    .ready = ready,
    .start_companion = start_companion,
};

extern const Transport needy_once{
    .name = "needy-once",
    .summary = "Unix sockets that a process can use for one size alone; for tests",
    .data_path = "copy",
    .reliability = Reliability::reliable,
    .reach = Reach::host,
    .subscribe = subscribe_once,
    .advertise = advertise_once,
    .fresh_process_for_each_size = true,
};

}  // namespace tacholog::transports
