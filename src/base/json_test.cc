#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace duecourse {
namespace {

TEST(Json, WhatIsReadIsWrittenBack) {
  for (const char* text : {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808",
                           "1.5", "-0.25", "1e+300", "\"\"", "\"a\\\"b\\\\c\\n\"", "[]", "[1,[2,[]],{}]",
                           "{}", "{\"b\":1,\"a\":{\"c\":[true,null]}}", "\"Zürich 调休\"", "2.0"}) {
    Result<Json> value = Json::Parse(text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.error().message();
    EXPECT_EQ(value->Dump(), text);
    EXPECT_EQ(*Json::Parse(value->DumpPretty()), *value);
  }
}

TEST(Json, WhatIsNotJsonIsRefusedWithoutThrowing) {
  std::string deep(1'000'000, '[');
  std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(Json::Parse(deepest).ok());
  struct Row {
    std::string text;
    const char* says;
  };
  const Row rows[] = {{"", "empty"},
                      {"{", "byte 2"},
                      {"[1,]", "near"},
                      {"{'a':1}", "near"},
                      {"[1] x", "near"},
                      {"NaN", "near"},
                      {"\"\xFF\"", "near"},
                      {"\"a\nb\"", "near"},
                      {"1e999", "near"},
                      {"[" + deepest + "]", "deeper than 64"},
                      {deep, "deeper than 64"},
                      {"{\"a\":1,\"b\":2,\"a\":3}", "\"a\" appears twice"},
                      {"{\"x\":{\"k\":1,\"k\":1}}", "\"k\" appears twice"}};
  for (const Row& row : rows) {
    Result<Json> value = Json::Parse(row.text);
    ASSERT_FALSE(value.ok()) << row.text.substr(0, 40);
    EXPECT_NE(value.error().message().find(row.says), std::string::npos) << value.error().message();
    EXPECT_LT(value.error().message().size(), 200u);
  }
}

TEST(Json, ADuplicateAmongManyNamesIsFoundQuickly) {
  std::string text = "{\"n0\":0";
  for (int i = 1; i < 100'000; ++i) text += ",\"n" + std::to_string(i) + "\":0";
  EXPECT_TRUE(Json::Parse(text + "}").ok());
  EXPECT_FALSE(Json::Parse(text + ",\"n500\":1}").ok());
}

TEST(Json, WritingMakesAnyBytesValidAndHarmless) {
  EXPECT_EQ(Json("a\xFF\xC3z").Dump(), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
  EXPECT_EQ(Json(std::string("\0\x1b\x7f", 3)).Dump(), "\"\\u0000\\u001b\\u007f\"");
  EXPECT_EQ(Json("\xE2\x80\xAE\xC2\x9B").Dump(), "\"\\u202e\\u009b\"");
  EXPECT_EQ(Json(std::nan("")).Dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).Dump(), "null");
  for (int c = 0; c < 256; ++c) {
    std::string text = {'x', static_cast<char>(c), 'y'};
    EXPECT_TRUE(Json::Parse(Json(text).Dump()).ok()) << c;
    if (c < 128) {
      EXPECT_EQ(Json::Parse(Json(text).Dump())->AsString(), text) << c;
    }
  }
}

TEST(Json, NumbersKeepTheirKind) {
  EXPECT_TRUE(Json::Parse("1")->is_integer());
  EXPECT_FALSE(Json::Parse("1.0")->is_integer());
  EXPECT_TRUE(Json::Parse("1.0")->is_number());
  EXPECT_EQ(Json::Parse("18446744073709551615")->AsDouble(), 18446744073709551615.0);
  EXPECT_EQ(Json(5.0).Dump(), "5.0");
  EXPECT_EQ(Json(size_t{7}).AsInteger(), 7);
  EXPECT_EQ(Json(7).AsDouble(), 7.0);
}

TEST(Json, TheWrongKindGivesTheFallbackAndNeverThrows) {
  Json text("x");
  EXPECT_EQ(text.AsInteger(5), 5);
  EXPECT_TRUE(text.AsBool(true));
  EXPECT_TRUE(text.AsArray().empty());
  EXPECT_TRUE(text.Get("a").is_null());
  EXPECT_EQ(Json(1).AsString(), "");
  EXPECT_DEATH(text.Set("a", 1), "is_object");
}

TEST(Json, ObjectsKeepTheirOrderAndSetReplaces) {
  Json value;
  value.Set("z", 1).Set("a", "x").Set("z", 2);
  value.Set("list", Json().Add(1).Add(Json::MakeObject()));
  EXPECT_EQ(value.Dump(), "{\"z\":2,\"a\":\"x\",\"list\":[1,{}]}");
  EXPECT_EQ(value.DumpPretty(), "{\n  \"z\": 2,\n  \"a\": \"x\",\n  \"list\": [\n    1,\n    {}\n  ]\n}");
  EXPECT_TRUE(value.Has("a"));
  EXPECT_FALSE(value.Has("b"));
}

TEST(Json, APointerFindsWhatRfc6901Says) {
  Json value =
      *Json::Parse(R"({"status":{"code":200},"a/b":1,"m~n":2,"":3,"list":[10,[20]],"nothing":null})");
  EXPECT_EQ(value.Pointer(""), &value);
  EXPECT_EQ(value.Pointer("/status/code")->AsInteger(), 200);
  EXPECT_EQ(value.Pointer("/a~1b")->AsInteger(), 1);
  EXPECT_EQ(value.Pointer("/m~0n")->AsInteger(), 2);
  EXPECT_EQ(value.Pointer("/")->AsInteger(), 3);
  EXPECT_EQ(value.Pointer("/list/1/0")->AsInteger(), 20);
  ASSERT_NE(value.Pointer("/nothing"), nullptr);
  EXPECT_TRUE(value.Pointer("/nothing")->is_null());
  for (const char* none :
       {"status", "/none", "/list/2", "/list/-", "/list/01", "/list/-1", "/status/code/x", "/m~2n", "/m~"}) {
    EXPECT_EQ(value.Pointer(none), nullptr) << none;
  }
}

}  // namespace
}  // namespace duecourse
