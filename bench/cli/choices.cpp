#include "cli/choices.hpp"

namespace tacholog {

std::string_view to_text(Test test) {
    return name_of(test, tests);
}

std::string_view to_text(Role role) {
    return name_of(role, roles);
}

std::string_view to_text(Touch touch) {
    return name_of(touch, touches);
}

std::string_view to_text(SlowSubscriber slow) {
    return name_of(slow, policies);
}

std::string_view to_text(Basis basis) {
    return name_of(basis, bases);
}

std::string_view to_text(Waiting waiting) {
    return name_of(waiting, ways_to_wait);
}

}  // namespace tacholog
