// SPDX-License-Identifier: BSD-2-Clause
// containers.rs: two functions that take all of their memory from containers.
use std::hint::black_box;

#[inline(never)]
fn leak_here() {
    for _ in 0..4000 {
        std::mem::forget(black_box(vec![1u8; 4000]));
    }
}

#[inline(never)]
fn fine_here() {
    for _ in 0..8000 {
        let mut text = String::new();
        for _ in 0..100 {
            text.push_str("0123456789");
        }
        black_box(&text);
    }
}

fn main() {
    leak_here();
    fine_here();
}
