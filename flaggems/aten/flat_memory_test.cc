#include "flaggems/aten/flat_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

// The bytes between the starts of two tensors' memory.
int64_t Distance(const at::Tensor& a, const at::Tensor& b) {
  return static_cast<const char*>(b.const_data_ptr()) -
         static_cast<const char*>(a.const_data_ptr());
}

class FlatArenaTest : public testing::Test {
 protected:
  const c10::Device device_ = ToFakeDevice(at::ones({1})).device();
};

TEST_F(FlatArenaTest, TensorsLieSideBySideInStoragesOfTheirOwn) {
  FlatArena arena(
      FlatArena::RoomFor(10) + FlatArena::RoomFor(24) + FlatArena::RoomFor(6),
      device_);
  const at::Tensor a = arena.Take(10, at::kByte);
  const at::Tensor b = arena.Take(3, at::kDouble);
  const at::Tensor c = arena.Take(3, at::kHalf);
  EXPECT_EQ(Distance(a, b), FlatArena::RoomFor(10));
  EXPECT_EQ(Distance(b, c), FlatArena::RoomFor(24));
  EXPECT_EQ(a.storage().nbytes(), 10u);
  EXPECT_EQ(b.storage().nbytes(), 24u);
  EXPECT_EQ(b.storage_offset(), 0);
  EXPECT_EQ(b.scalar_type(), at::kDouble);
  EXPECT_EQ(c.device(), device_);
  EXPECT_FALSE(a.storage().is_alias_of(b.storage()));
}

TEST_F(FlatArenaTest, MemoryLivesAsLongAsATensor) {
  at::Tensor last;
  {
    std::optional<FlatArena> arena(std::in_place, 2 * FlatArena::RoomFor(4096),
                                   device_);
    const at::Tensor first = arena->Take(1024, at::kFloat);
    last = arena->Take(1024, at::kFloat);
    arena.reset();
    CpuAliasOf(first).fill_(1);
    CpuAliasOf(last).fill_(2);
  }
  EXPECT_EQ(CpuAliasOf(last).sum().item<float>(), 2048);
}

TEST_F(FlatArenaTest, WhatHasNoRoomIsAllocatedAlone) {
  const struct {
    int64_t room;
    std::vector<int64_t> sizes;  // in bytes
  } kCases[] = {
      {0, {8}},
      {FlatArena::RoomFor(8), {8, 8}},  // the first is all of it
      {FlatArena::RoomFor(8) * 2, {8, 2000, 8, 8}},
      {FlatArena::RoomFor(100), {0, 100, 0}},
      {int64_t{100} << 20, {4096, 4096}},  // nothing to be gained
  };
  for (const auto& c : kCases) {
    FlatArena arena(c.room, device_);
    std::vector<at::Tensor> tensors;
    for (const int64_t size : c.sizes) {
      at::Tensor tensor = arena.Take(size, at::kByte);
      EXPECT_EQ(tensor.numel(), size);
      if (size > 0) {
        CpuAliasOf(tensor).fill_(static_cast<int64_t>(tensors.size()));
      }
      tensors.push_back(std::move(tensor));
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].numel() == 0) continue;
      EXPECT_TRUE(CpuAliasOf(tensors[i])
                      .eq(static_cast<int64_t>(i))
                      .all()
                      .item<bool>());
    }
  }
}

TEST_F(FlatArenaTest, OnTheHostTensorsAreOrdinary) {
  FlatArena arena(4096, at::kCPU);
  const at::Tensor x = arena.Take(4, at::kFloat);
  EXPECT_TRUE(x.device().is_cpu());
  EXPECT_EQ(x.numel(), 4);
}

}  // namespace
}  // namespace flaggems
