// Files that stand in place of those of the kernel.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tacholog {

/// Files in place of /proc and /sys, with contents that the test chooses.
class FilesOfTheKernel {
public:
    FilesOfTheKernel() { EXPECT_NE(::mkdtemp(root_.data()), nullptr); }
    FilesOfTheKernel(const FilesOfTheKernel&) = delete;
    FilesOfTheKernel& operator=(const FilesOfTheKernel&) = delete;
    ~FilesOfTheKernel() { std::filesystem::remove_all(root_); }

    const std::string& root() const { return root_; }
    void write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file{root_ + name};
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file} << text;
    }

private:
    std::string root_ = std::filesystem::temp_directory_path() / "tacholog-kernel-XXXXXX";
};

}  // namespace tacholog
