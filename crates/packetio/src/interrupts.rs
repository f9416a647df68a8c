//! Detects whether an interrupt occurred between two points of a program, on x86-64.
//!
//! A return from an interrupt to a user program clears each data segment register whose selector is
//! null but whose privilege bits are not (Intel 64 and IA-32 Architectures Software Developer's
//! Manual, volume 2, IRET). In 64-bit mode the register ES has no other effect, so that such a
//! selector in ES is a mark that the next interrupt removes. Interrupts that a hypervisor handles
//! by itself leave the mark. Processors that return from interrupts in another way (FRED) may also
//! leave it, so [`available`] tests whether marks work.
#![allow(unsafe_code, reason = "the segment register is accessed by instructions")]

use std::time::{Duration, Instant};

/// The time within which an interrupt must remove the mark when `available` tests whether marks
/// work. The timer interrupts a busy processor at least every 10 ms (`CONFIG_HZ` of Linux is 100 or
/// more).
const TIMEOUT: Duration = Duration::from_millis(100);

/// Sets the mark that the next interrupt of this thread removes.
#[inline(always)]
pub fn mark() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the selector 3 is null, so that loading it cannot fault, and 64-bit code makes no use
    // of ES: memory operands ignore its base and limit. The kernel saves it with the thread.
    unsafe {
        std::arch::asm!("mov es, {0:x}", in(reg) 3_u16, options(nomem, nostack, preserves_flags));
    }
}

/// Returns whether the mark is still set, so that no visible interrupt has occurred since [`mark`].
/// Returns `true` on processors without marks.
#[inline(always)]
#[must_use]
pub fn is_marked() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let selector: u16;
        // SAFETY: the instruction only copies the selector to a general register.
        unsafe {
            std::arch::asm!("mov {0:x}, es", out(reg) selector, options(nomem, nostack, preserves_flags));
        }
        selector != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Returns whether marks reveal interrupts on this processor. Tests that a mark persists for a
/// moment, and that an interrupt then removes it. Takes up to 100 ms.
#[must_use]
pub fn available() -> bool {
    let stays = (0..100).any(|_| {
        mark();
        is_marked()
    });
    mark();
    let begin = Instant::now();
    while is_marked() && begin.elapsed() < TIMEOUT {
        std::hint::spin_loop();
    }
    cfg!(target_arch = "x86_64") && stays && !is_marked()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of timer interrupts that all processors have received.
    fn timer_interrupts() -> Option<u64> {
        let text = std::fs::read_to_string("/proc/interrupts").ok()?;
        let line = text.lines().find(|line| line.trim_start().starts_with("LOC:"))?;
        Some(line.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).sum())
    }

    #[test]
    fn marks_vanish_with_interrupts_and_stay_without() {
        if !available() {
            // Such a processor reports that marks are not available.
            return;
        }
        let before = timer_interrupts();
        let begin = Instant::now();
        let (mut windows, mut interrupted) = (0_u64, 0_u64);
        while begin.elapsed() < Duration::from_millis(300) {
            mark();
            windows += 1;
            interrupted += u64::from(!is_marked());
        }
        // Most of these short windows are not interrupted.
        assert!(interrupted * 100 < windows, "{interrupted} of {windows}");
        let mut removed = 0;
        let begin = Instant::now();
        mark();
        while begin.elapsed() < Duration::from_millis(300) {
            if !is_marked() {
                removed += 1;
                mark();
            }
        }
        let Some((before, after)) = before.zip(timer_interrupts()) else { return };
        // Other threads' interrupts count as well, and so do other kinds here.
        assert!(removed > 0 && after > before, "{removed} marks removed");
    }
}
