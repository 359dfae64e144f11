#include "exec/pool.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace duecourse {
namespace {

TEST(Pool, WhatEndsSomethingGoesBeforeWhatBeginsSomething) {
  std::promise<void> held, posted, done;
  std::string order;
  Pool pool(1);
  pool.Post(MakeJob([&] {
    held.set_value();
    posted.get_future().wait();
  }));
  held.get_future().wait();
  pool.Post(MakeJob([&] { order += "begin 1, "; }));
  pool.Post(MakeJob([&] {
    order += "begin 2";
    done.set_value();
  }));
  pool.PostEnding(MakeJob([&] { order += "end 1, "; }));
  pool.PostEnding(MakeJob([&] { order += "end 2, "; }));
  posted.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, "end 1, end 2, begin 1, begin 2");
}

}  // namespace
}  // namespace duecourse
