#include "base/queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace duecourse {
namespace {

constexpr int64_t kPatienceMs = 60'000;  // only a test that fails waits so long

TEST(Queue, WhoGathersIsNotWokenByWhatCanWait) {
  Queue<int> queue(100);
  std::vector<int> got;
  std::thread taker([&] { got = queue.TakeAll(kPatienceMs, kPatienceMs); });
  for (int i = 0; i < 50; ++i) {
    queue.PushSoon(i);
    std::this_thread::yield();  // whoever is woken by one takes it alone
  }
  queue.Push(50);
  taker.join();
  EXPECT_EQ(got.size(), 51u);
}

TEST(Queue, NothingIsGatheredWhereSomethingUrgentCameBefore) {
  Queue<int> queue(100);
  queue.Push(1);
  queue.PushSoon(2);
  EXPECT_EQ(queue.TakeAll(kPatienceMs, kPatienceMs), (std::vector<int>{1, 2}));
  queue.PushSoon(3);
  EXPECT_EQ(queue.TakeAll(kPatienceMs, 1),
            std::vector<int>{3});  // nothing urgent any more: its time runs out
  queue.PushSoon(4);
  EXPECT_EQ(queue.TakeAll(1, kPatienceMs), std::vector<int>{4});  // no longer than the wait in all
}

TEST(Queue, AGatheringEndsWhenThereIsEnough) {
  Queue<int> queue(100);
  std::vector<int> got;
  std::thread taker([&] { got = queue.TakeAll(kPatienceMs, kPatienceMs, 3); });
  for (int i = 1; i <= 3; ++i) queue.PushSoon(i);
  taker.join();
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3}));
}

TEST(Queue, AGatheringEndsWhenItIsFullOrClosed) {
  Queue<int> queue(2);
  std::vector<int> got;
  std::thread full([&] { got = queue.TakeAll(kPatienceMs, kPatienceMs); });
  queue.PushSoon(1);
  queue.PushSoon(2);
  full.join();
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
  queue.PushSoon(3);
  std::thread closed([&] { got = queue.TakeAll(kPatienceMs, kPatienceMs); });
  queue.Close();
  closed.join();
  EXPECT_EQ(got, std::vector<int>{3});
  EXPECT_FALSE(queue.PushSoon(3));
  EXPECT_FALSE(queue.PushAll({3, 4}));
}

TEST(Queue, WhoTakesIsWokenByWhatCanWaitToo) {
  Queue<int> queue(100);
  std::vector<int> got;
  std::thread taker([&] { got = queue.TakeAll(kPatienceMs); });
  queue.PushSoon(1);
  taker.join();
  EXPECT_EQ(got, std::vector<int>{1});
}

TEST(Queue, AllOfThemComeTogether) {
  Queue<int> queue(2);
  std::vector<int> got;
  std::thread taker([&] { got = queue.TakeAll(kPatienceMs); });
  EXPECT_TRUE(queue.PushAll({1, 2, 3, 4}));
  taker.join();
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace duecourse
