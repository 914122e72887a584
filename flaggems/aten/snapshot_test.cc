#include "flaggems/aten/snapshot.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "flaggems/core/status_testutil.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

std::vector<c10::IValue> SnapshotOf(std::vector<c10::IValue> arguments) {
  absl::StatusOr<std::vector<c10::IValue>> copies = Snapshot(arguments);
  EXPECT_TRUE(copies.ok()) << copies.status();
  return copies.ok() ? *std::move(copies) : std::vector<c10::IValue>();
}

struct TensorCase {
  std::string name;
  at::Tensor (*make)();
};

std::vector<TensorCase> TensorCases() {
  return {
      {"Contiguous",
       [] {
         return at::arange(12.).reshape({3, 4});
       }},
      {"Transposed",
       [] {
         return at::arange(12.).reshape({3, 4}).t();
       }},
      {"SlicedWithOffset",
       [] {
         return at::arange(40.).reshape({5, 8}).slice(1, 3, 8, 2);
       }},
      {"Expanded",
       [] {
         return at::arange(3.).unsqueeze(1).expand({3, 4});
       }},
      {"ZeroDim", [] { return at::scalar_tensor(2.5); }},
      {"Empty",
       [] {
         return at::empty({0, 3});
       }},
      {"EmptySliceOfStorage", [] { return at::arange(10.).slice(0, 5, 5); }},
      {"Half", [] { return at::arange(7.).to(at::kHalf).slice(0, 3); }},
      {"Bool", [] { return at::arange(7.) > 3; }},
      {"Complex",
       [] {
         return at::complex(at::arange(6.), at::ones({6})).slice(0, 1, 6, 2);
       }},
      {"Conjugated",
       [] { return at::complex(at::arange(6.), at::ones({6})).conj(); }},
      {"NegativeBit", [] { return at::_neg_view(at::arange(6.)); }},
      {"ChannelsLast",
       [] {
         return at::rand({2, 3, 4, 5})
             .contiguous(at::MemoryFormat::ChannelsLast);
       }},
  };
}

void PrintTo(const TensorCase& c, std::ostream* os) { *os << c.name; }

class SnapshotTensorTest : public testing::TestWithParam<TensorCase> {};

TEST_P(SnapshotTensorTest, KeepsWhatAnOperatorSees) {
  const at::Tensor tensor = GetParam().make();
  const std::vector<c10::IValue> copies = SnapshotOf({tensor});
  ASSERT_EQ(copies.size(), 1u);
  const at::Tensor copy = copies[0].toTensor();
  EXPECT_EQ(copy.sizes(), tensor.sizes());
  EXPECT_EQ(copy.strides(), tensor.strides());
  EXPECT_EQ(copy.scalar_type(), tensor.scalar_type());
  EXPECT_EQ(copy.is_conj(), tensor.is_conj());
  EXPECT_EQ(copy.is_neg(), tensor.is_neg());
  EXPECT_TRUE(at::equal(copy.resolve_conj().resolve_neg(),
                        tensor.resolve_conj().resolve_neg()));
  if (tensor.numel() > 0) {
    EXPECT_NE(copy.const_data_ptr(), tensor.const_data_ptr());
  }
}

TEST_P(SnapshotTensorTest, IsNotChangedWithTheOriginal) {
  at::Tensor tensor = GetParam().make();
  if (tensor.numel() == 0 || !tensor.is_non_overlapping_and_dense()) {
    GTEST_SKIP() << "fill_ needs elements of their own";
  }
  const at::Tensor before = tensor.clone();
  const std::vector<c10::IValue> copies = SnapshotOf({tensor});
  tensor.zero_();
  EXPECT_TRUE(at::equal(copies[0].toTensor().resolve_conj().resolve_neg(),
                        before.resolve_conj().resolve_neg()));
}

INSTANTIATE_TEST_SUITE_P(Tensors, SnapshotTensorTest,
                         testing::ValuesIn(TensorCases()),
                         [](const auto& info) { return info.param.name; });

TEST(Snapshot, SharedStorageStaysShared) {
  const at::Tensor base = at::arange(10.);
  const std::vector<c10::IValue> copies =
      SnapshotOf({base.slice(0, 0, 6), base.slice(0, 4, 10)});
  copies[0].toTensor().fill_(-1);
  const at::Tensor second = copies[1].toTensor();
  EXPECT_EQ(second[0].item<float>(), -1);
  EXPECT_EQ(second[1].item<float>(), -1);
  EXPECT_EQ(second[2].item<float>(), 6);
  EXPECT_EQ(base[0].item<float>(), 0);
}

TEST(Snapshot, SharedStorageOfTwoDtypesStaysShared) {
  const at::Tensor complex = at::complex(at::arange(5.), at::ones({5}));
  const std::vector<c10::IValue> copies =
      SnapshotOf({at::view_as_real(complex).select(1, 1), complex});
  copies[0].toTensor().fill_(9);
  EXPECT_TRUE(at::equal(at::imag(copies[1].toTensor()), at::full({5}, 9.f)));
}

TEST(Snapshot, CopiesOnlyTheReachedPartOfAStorage) {
  const at::Tensor base = at::zeros({1 << 20});
  const std::vector<c10::IValue> copies =
      SnapshotOf({base.slice(0, 1000, 1010)});
  EXPECT_LT(copies[0].toTensor().storage().nbytes(), 100u);
}

TEST(Snapshot, ListsAndNumbersAndNoneAreTakenOver) {
  const at::Tensor a = at::ones({2});
  const c10::List<at::Tensor> list({a, a + 1});
  c10::List<std::optional<at::Tensor>> optionals;
  optionals.push_back(std::nullopt);
  optionals.push_back(a);
  const std::vector<c10::IValue> copies =
      SnapshotOf({list, optionals, 3, 2.5, c10::IValue(), "text", at::Tensor(),
                  std::vector<int64_t>{1, 2}});
  EXPECT_TRUE(copies[0].isTensorList());
  EXPECT_EQ(copies[0].toTensorList().size(), 2u);
  EXPECT_TRUE(at::equal(copies[0].toTensorList()[1], a + 1));
  EXPECT_TRUE(copies[1].isOptionalTensorList());
  EXPECT_TRUE(copies[1].toListRef()[0].isNone());
  EXPECT_EQ(copies[2].toInt(), 3);
  EXPECT_EQ(copies[3].toDouble(), 2.5);
  EXPECT_TRUE(copies[4].isNone());
  EXPECT_EQ(copies[5].toStringRef(), "text");
  EXPECT_FALSE(copies[6].toTensor().defined());
  EXPECT_EQ(copies[7].toIntVector(), (std::vector<int64_t>{1, 2}));
}

TEST(Snapshot, APythonNumberStaysOne) {
  at::Tensor number = at::scalar_tensor(2.5, at::kDouble);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  const std::vector<c10::IValue> copies = SnapshotOf({number});
  EXPECT_TRUE(copies[0].toTensor().unsafeGetTensorImpl()->is_wrapped_number());
}

TEST(Snapshot, CopiesFromADevice) {
  const at::Tensor host = at::arange(24.).reshape({4, 6});
  const at::Tensor device = ToFakeDevice(host);
  const at::Tensor view = device.as_strided({3, 4}, {1, 6}, 2);
  const int64_t copies_before = FakeDeviceToHostCopies();
  const std::vector<c10::IValue> copies =
      SnapshotOf({view, device, device.device()});
  // One storage, one copy.
  EXPECT_EQ(FakeDeviceToHostCopies(), copies_before + 1);
  EXPECT_TRUE(copies[0].toTensor().device().is_cpu());
  EXPECT_EQ(copies[0].toTensor().strides(), view.strides());
  EXPECT_TRUE(
      at::equal(copies[0].toTensor(), host.as_strided({3, 4}, {1, 6}, 2)));
  EXPECT_TRUE(at::equal(copies[1].toTensor(), host));
  EXPECT_TRUE(copies[2].toDevice().is_cpu());
}

TEST(Snapshot, RefusesWhatItCannotCopy) {
  const at::Tensor sparse = at::eye(3).to_sparse();
  EXPECT_THAT(Snapshot(std::vector<c10::IValue>{sparse}),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Snapshot(std::vector<c10::IValue>{at::empty({2}, at::kMeta)}),
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace flaggems
