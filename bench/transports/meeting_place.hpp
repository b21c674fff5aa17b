// A place where two threads of one process find the object that they share. Without it, the threads would know nothing
// of each other.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tacholog {

template <typename Shared>
class MeetingPlace {
public:
    static MeetingPlace& instance() {
        static MeetingPlace place;
        return place;
    }

    void open(const std::string& name, const std::shared_ptr<Shared>& shared) {
        const std::lock_guard lock{mutex_};
        open_[name] = shared;
    }

    std::shared_ptr<Shared> join(const std::string& name) {
        const std::lock_guard lock{mutex_};
        const auto found = open_.find(name);
        return found == open_.end() ? nullptr : found->second.lock();
    }

    void close(const std::string& name) {
        const std::lock_guard lock{mutex_};
        open_.erase(name);
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<Shared>, std::less<>> open_;
};

}  // namespace tacholog
