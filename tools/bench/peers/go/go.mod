// SPDX-License-Identifier: MIT
module drover.example/bench

go 1.19
