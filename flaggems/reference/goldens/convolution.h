#ifndef FLAGGEMS_REFERENCE_GOLDENS_CONVOLUTION_H_
#define FLAGGEMS_REFERENCE_GOLDENS_CONVOLUTION_H_

// Convolutions of cuDNN and of depth 1.

#include <vector>

#include "flaggems/reference/goldens/golden_row.h"

namespace flaggems {

std::vector<GoldenRow> ConvolutionGoldens();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_GOLDENS_CONVOLUTION_H_
