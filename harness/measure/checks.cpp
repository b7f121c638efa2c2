// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/checks.hpp"

#include <utility>

#include "harness/io/threads.hpp"

namespace occbench {

Checks::Checks(Arena& arena) : arena_(arena) {
  start_behind(workers_, 5, [this] { work(); });  // launches must not be delayed
  copies_.resize(workers_.size() + 1 + large);    // one is filled while the others are read
  for (Arena::OutputCopy& each : copies_) (free_large_.size() < large ? free_large_ : free_).push_back(&each);
}

Checks::~Checks() {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.clear();
    ending_ = true;
  }
  changed_.notify_all();
}

std::future<std::optional<std::string>> Checks::begin(Check check) {
  Free& from = arena_.poisoned_bytes() > usual_bytes ? free_large_ : free_;
  Arena::OutputCopy* copy = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&from] { return !from.empty(); });
    copy = from.back();
    from.pop_back();
  }
  try {
    arena_.copy_output(*copy);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    from.push_back(copy);
    throw;
  }
  copy->threads = &from == &free_large_ ? large_threads : 1;  // most others have a thread each
  Task task{.run = std::packaged_task<std::optional<std::string>()>([copy, check = std::move(check)] {
              const Arena::ReadCopy use(*copy);
              return check();
            }),
            .copy = copy,
            .from = &from};
  auto answer = task.run.get_future();
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  return answer;
}

void Checks::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task.run();
    lock.lock();
    task.from->push_back(task.copy);
    changed_.notify_all();
  }
}

}  // namespace occbench
