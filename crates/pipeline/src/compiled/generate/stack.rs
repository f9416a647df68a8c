//! Computes how much stack generated code needs: the stack frames along the longest path of calls.

use crate::error::{CompileError, InternalError};
use cranelift_codegen::Context;
use cranelift_codegen::ir::ExternalName;
use cranelift_module::FuncId;
use std::collections::HashMap;

/// The stack size in bytes of a thread that processes packets.
pub const WORKER_STACK_BYTES: usize = 8 << 20;

/// The maximum number of bytes of a worker's stack that generated code may take. The rest is for
/// the functions that call generated code, and for the host functions that it calls.
const MAX: u64 = WORKER_STACK_BYTES as u64 / 2;

/// The size in bytes of the return address and the frame pointer, which Cranelift does not include
/// in the size of a stack frame.
const LINKAGE_BYTES: u64 = 16;

/// The size of a generated function's stack frame, and the functions that it may call.
#[derive(Debug)]
struct Frame {
    bytes: u64,
    calls: Vec<FuncId>,
}

/// Returns the maximum number of bytes of stack that a call of any of the functions takes.
///
/// # Errors
/// Returns an error if the functions take more than `MAX` bytes, or call each other recursively.
pub(super) fn needed(functions: &[(FuncId, Context)]) -> Result<u64, CompileError> {
    let frames = functions.iter().map(|(id, context)| Ok((*id, frame(context)?)));
    within(&frames.collect::<Result<_, InternalError>>()?, MAX)
}

fn within(frames: &HashMap<FuncId, Frame>, most: u64) -> Result<u64, CompileError> {
    let bytes = deepest(frames)?;
    if bytes > most {
        return Err(CompileError::Stack { bytes, most });
    }
    Ok(bytes)
}

fn frame(context: &Context) -> Result<Frame, InternalError> {
    let layout = context.compiled_code().and_then(|code| code.buffer.frame_layout());
    let layout = layout.ok_or_else(|| InternalError::new("a function without a stack frame"))?;
    let bytes = u64::from(layout.frame_to_fp_offset);
    let named = context.func.params.user_named_funcs();
    let calls = context.func.dfg.ext_funcs.values().filter_map(|function| match function.name {
        ExternalName::User(name) => named.get(name).map(|name| FuncId::from_u32(name.index)),
        // Functions of the C library, which run on the stack that is left to the host.
        ExternalName::TestCase(_) | ExternalName::LibCall(_) | ExternalName::KnownSymbol(_) => None,
    });
    Ok(Frame { bytes: bytes + LINKAGE_BYTES, calls: calls.collect() })
}

/// Returns the number of bytes of stack along the longest path of calls. Host functions count as
/// zero.
fn deepest(frames: &HashMap<FuncId, Frame>) -> Result<u64, CompileError> {
    // The bytes of the longest path from each function on, its own frame included. `None` while its
    // calls are visited.
    let mut paths: HashMap<FuncId, Option<u64>> = HashMap::new();
    // Uses a work list instead of recursion, since calls may nest deeply.
    let mut open: Vec<(FuncId, &Frame, bool)> =
        frames.iter().map(|(id, frame)| (*id, frame, false)).collect();
    while let Some((id, frame, are_calls_visited)) = open.pop() {
        if are_calls_visited {
            let below = frame.calls.iter().filter_map(|call| paths.get(call).copied().flatten());
            let below = below.max().unwrap_or(0);
            paths.insert(id, Some(frame.bytes.saturating_add(below)));
            continue;
        }
        match paths.get(&id) {
            Some(Some(_)) => continue,
            Some(None) => return Err(CompileError::internal("generated code that calls itself")),
            None => {}
        }
        paths.insert(id, None);
        open.push((id, frame, true));
        let calls = frame.calls.iter().filter(|call| !matches!(paths.get(call), Some(Some(_))));
        open.extend(calls.filter_map(|call| Some((*call, frames.get(call)?, false))));
    }
    Ok(paths.into_values().flatten().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[(u32, u64, &[u32])]) -> HashMap<FuncId, Frame> {
        let frame = |(id, bytes, calls): &(u32, u64, &[u32])| {
            let calls = calls.iter().map(|call| FuncId::from_u32(*call)).collect();
            (FuncId::from_u32(*id), Frame { bytes: *bytes, calls })
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn the_longest_path_counts_and_not_the_sum() {
        // Function 9 is one of the host. Function 3 is reached on two paths.
        let functions: [(u32, u64, &[u32]); 4] =
            [(0, 10, &[1, 2]), (1, 100, &[3, 9]), (2, 50, &[3, 3]), (3, 1000, &[])];
        assert_eq!(deepest(&frames(&functions)).ok(), Some(1110));
        assert_eq!(deepest(&frames(&[])).ok(), Some(0));
    }

    #[test]
    fn a_long_chain_needs_no_stack_here() {
        let mut chain = HashMap::new();
        for id in 0..100_000 {
            let calls = vec![FuncId::from_u32(id + 1)];
            chain.insert(FuncId::from_u32(id), Frame { bytes: 2, calls });
        }
        assert_eq!(deepest(&chain).ok(), Some(200_000));
    }

    #[test]
    fn more_than_the_most_is_refused_with_both_numbers() {
        let functions: [(u32, u64, &[u32]); 2] = [(0, 10, &[1]), (1, 5, &[])];
        assert_eq!(within(&frames(&functions), 15).ok(), Some(15));
        let error = within(&frames(&functions), 14).expect_err("a byte too many").to_string();
        assert!(error.contains("15 bytes") && error.contains("14"), "{error}");
    }

    #[test]
    fn code_that_calls_itself_has_no_longest_path() {
        let functions: [(u32, u64, &[u32]); 2] = [(0, 1, &[1]), (1, 1, &[0])];
        assert!(deepest(&frames(&functions)).is_err());
    }
}
