//! Generates code for the timers of table entries. Packets restart them, and treat entries that
//! have timed out as misses.

use super::function::{Function, context_offset};
use super::host_call::HostCall;
use super::probe::IS_ALONE;
use super::variables::Pointer;
use crate::resolved::Expression;
use crate::table::{Account, Timer};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AtomicRmwOp, Block, InstBuilder, MemFlagsData, Value, types};

impl Function<'_, '_> {
    /// Emits code that removes an entry that has timed out and then jumps to `miss`. Code that is
    /// emitted next runs for other entries.
    pub(super) fn expire_if_idle(&mut self, id: u32, access: Value, entry: Value, miss: Block) {
        let [restarted, timeout] = [Account::RESTARTED, Account::TIMEOUT]
            .map(|part| self.load(Pointer { base: entry, offset: part as i32 }, 8));
        let now = self.context_field(context_offset::NOW);
        // Workers do not read the clock at the same moment, so another worker may have restarted
        // the timer later than `now`.
        let now = self.builder.ins().umax(now, restarted);
        let idle = self.builder.ins().isub(now, restarted);
        let is_alive = self.builder.ins().icmp(IntCC::UnsignedLessThan, idle, timeout);
        self.unless(is_alive, |function| {
            let number = function.number(u64::from(id));
            let arguments = [function.context, number, entry, access];
            function.call_host_cold(HostCall::Expire, &arguments);
            function.builder.ins().jump(miss, &[]);
        });
    }

    /// Emits code that records the entry whose timer the action may restart.
    pub(super) fn set_timed(&mut self, entry: Value) {
        let at = Pointer { base: self.context, offset: context_offset::TIMED as i32 };
        self.store(at, 8, entry);
    }

    /// Emits code that restarts the timer of the entry whose action runs. If a profile is given,
    /// the entry also gets that profile's timeout.
    pub(super) fn restart_timer(&mut self, profile: Option<&Expression>) {
        if let Some(profile) = profile {
            let profile = self.expression(profile);
            self.run_on_host(HostCall::RestartTimer, &[self.context, profile]);
            return;
        }
        let at = Pointer { base: self.context, offset: context_offset::TIMED as i32 };
        let account = self.load(at, 8);
        let mut block = || self.builder.create_block();
        let (own, other, join) = (block(), block(), block());
        self.builder.set_cold_block(other);
        self.builder.ins().brif(account, own, &[], other, &[]);
        self.builder.switch_to_block(own);
        self.restart(account);
        self.builder.ins().jump(join, &[]);
        // The interpreter may have looked up the table, so the host restarts the timer.
        self.builder.switch_to_block(other);
        let none = self.number(u64::MAX);
        self.call_host_cold(HostCall::RestartTimer, &[self.context, none]);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }

    /// Emits code that restarts a timer as [`Timer::restart`] does. Stores that would change
    /// nothing are skipped.
    pub(super) fn restart(&mut self, account: Value) {
        let [restarted, precomputed] = [Account::RESTARTED, Account::NOTIFIED]
            .map(|part| Pointer { base: account, offset: part as i32 });
        let now = self.context_field(context_offset::NOW);
        let mut block = || self.builder.create_block();
        let (later, alone, shared) = (block(), block(), block());
        let (restarts, was_told, join) = (block(), block(), block());
        self.builder.set_cold_block(was_told);
        let before = self.load(restarted, 8);
        let is_later = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, now, before);
        self.builder.ins().brif(is_later, later, &[], restarts, &[]);

        self.builder.switch_to_block(later);
        // All tables have the same value there.
        let accesses = self.context_field(context_offset::TABLES);
        let is_alone = self.load(Pointer { base: accesses, offset: IS_ALONE }, 8);
        self.builder.ins().brif(is_alone, alone, &[], shared, &[]);
        self.builder.switch_to_block(alone);
        self.store(restarted, 8, now);
        self.builder.ins().jump(restarts, &[]);
        self.builder.switch_to_block(shared);
        let at = self.builder.ins().iadd_imm_s(account, Account::RESTARTED as i64);
        let flags = MemFlagsData::new().with_notrap();
        self.builder.ins().atomic_rmw(types::I64, flags, AtomicRmwOp::Umax, at, now);
        self.builder.ins().jump(restarts, &[]);

        self.builder.switch_to_block(restarts);
        let idle_since = self.load(precomputed, 8);
        let is_known =
            self.builder.ins().icmp_imm_s(IntCC::NotEqual, idle_since, Timer::NONE.cast_signed());
        self.builder.ins().brif(is_known, was_told, &[], join, &[]);
        self.builder.switch_to_block(was_told);
        let none = self.number(Timer::NONE);
        self.store(precomputed, 8, none);
        self.builder.ins().jump(join, &[]);
        self.builder.switch_to_block(join);
    }
}
