#include "probe/workers.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace duecourse {
namespace {

// Something that a look can wait for, and that counts what happened. Shared with looks that outlive their
// test.
class Board {
 public:
  void Note(int* counter) {
    MutexLock lock(mutex_);
    ++*counter;
    changed_.NotifyAll();
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void AwaitOpen() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }
  bool Await(const int& counter, int wanted) {
    MutexLock lock(mutex_);
    while (counter < wanted && changed_.WaitFor(mutex_, 30'000)) continue;
    return counter >= wanted;
  }
  int begun = 0, done = 0, timed_out = 0, no_thread = 0, back = 0;

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = false;
};

Look LookOn(const std::shared_ptr<Board>& board, bool hangs, Millis timeout) {
  Look look;
  look.timeout = timeout;
  look.look = [board, hangs](const std::atomic<bool>&) {
    board->Note(&board->begun);
    if (hangs) board->AwaitOpen();
  };
  look.end = [board](LookEnd end) {
    board->Note(end == LookEnd::kDone       ? &board->done
                : end == LookEnd::kTimedOut ? &board->timed_out
                                            : &board->no_thread);
  };
  look.back = [board] { board->Note(&board->back); };
  return look;
}

constexpr Millis kShort{100};
constexpr Millis kLong = Minutes(5);

TEST(WorkersTest, EveryLookEndsOnce) {
  auto board = std::make_shared<Board>();
  {
    Workers workers(2, 8);
    for (int i = 0; i < 500; ++i) workers.Submit(LookOn(board, false, kLong));
    EXPECT_TRUE(board->Await(board->done, 500));
  }
  EXPECT_EQ(board->done, 500);
  EXPECT_EQ(board->timed_out + board->no_thread + board->back, 0);
}

TEST(WorkersTest, AHungLookIsAnsweredForAndItsThreadReplaced) {
  auto board = std::make_shared<Board>();
  Workers workers(1, 4);
  workers.Submit(LookOn(board, true, kShort));
  EXPECT_TRUE(board->Await(board->timed_out, 1));
  EXPECT_EQ(workers.hanging(), 1);
  for (int i = 0; i < 50; ++i) workers.Submit(LookOn(board, false, kLong));
  EXPECT_TRUE(board->Await(board->done, 50));
  board->Open();
  EXPECT_TRUE(board->Await(board->back, 1));
  EXPECT_EQ(board->timed_out, 1);
  EXPECT_EQ(workers.hanging(), 0);
}

TEST(WorkersTest, ASlowLookDoesNotHoldUpTheNextUntilItsDeadline) {
  auto board = std::make_shared<Board>();
  Workers workers(1, 4);
  workers.Submit(LookOn(board, true, kLong));  // not hung by its own reckoning
  workers.Submit(LookOn(board, false, kLong));
  EXPECT_TRUE(board->Await(board->done, 1));
  EXPECT_EQ(board->timed_out, 0);
  board->Open();
  EXPECT_TRUE(board->Await(board->done, 2));
}

TEST(WorkersTest, ThreadsAreBoundedAndWhatFindsNoneIsToldSo) {
  auto board = std::make_shared<Board>();
  Workers workers(2, 3);
  for (int i = 0; i < 3; ++i) workers.Submit(LookOn(board, true, Millis{1000}));
  EXPECT_TRUE(board->Await(board->timed_out, 3));
  EXPECT_EQ(workers.hanging(), 3);
  for (int i = 0; i < 5; ++i) workers.Submit(LookOn(board, false, kShort));
  EXPECT_TRUE(board->Await(board->no_thread, 5));
  EXPECT_EQ(board->begun, 3);
  // Once they are back, it goes on.
  board->Open();
  EXPECT_TRUE(board->Await(board->back, 3));
  workers.Submit(LookOn(board, false, kLong));
  EXPECT_TRUE(board->Await(board->done, 1));
}

TEST(WorkersTest, TheEndWaitsForNoHungLookAndIsFollowedByNoCallback) {
  auto board = std::make_shared<Board>();
  {
    Workers workers(2, 4);
    workers.Submit(LookOn(board, true, kShort));
    EXPECT_TRUE(board->Await(board->timed_out, 1));
    workers.Submit(LookOn(board, true, kLong));
    workers.Submit(LookOn(board, true, kLong));
    EXPECT_TRUE(board->Await(board->begun, 3));
  }
  const int64_t begun_us = MonotonicMicros();
  EXPECT_LT(MonotonicMicros() - begun_us, 20'000'000);
  board->Open();
  EXPECT_EQ(board->done + board->back, 0);
}

TEST(WorkersTest, AnEndDuringALookCancelsIt) {
  auto board = std::make_shared<Board>();
  Workers workers(1, 1);
  Look look;
  look.timeout = kLong;
  look.look = [board](const std::atomic<bool>& cancelled) {
    board->Note(&board->begun);
    while (!cancelled) continue;
  };
  look.end = [board](LookEnd) { board->Note(&board->done); };
  workers.Submit(std::move(look));
  EXPECT_TRUE(board->Await(board->begun, 1));
  // The destructor returns although the look would go on for ever.
}

}  // namespace
}  // namespace duecourse
