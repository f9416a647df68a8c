//! Sets of flows as ascending lists: they are small, are compared and hashed often, and an order
//! that never changes keeps results and derivations the same from run to run.

use super::model::FlowId;

/// What is in both.
pub(crate) fn intersection(a: &[FlowId], b: &[FlowId]) -> Vec<FlowId> {
    let mut b = b.iter().peekable();
    let both = a.iter().filter(|flow| {
        while b.next_if(|other| other < flow).is_some() {}
        b.peek() == Some(flow)
    });
    both.copied().collect()
}

/// What is in the first and not in the second.
pub(crate) fn difference(a: &[FlowId], b: &[FlowId]) -> Vec<FlowId> {
    let mut b = b.iter().peekable();
    let only = a.iter().filter(|flow| {
        while b.next_if(|other| other < flow).is_some() {}
        b.peek() != Some(flow)
    });
    only.copied().collect()
}

/// The set without one flow.
pub(crate) fn without(a: &[FlowId], flow: Option<FlowId>) -> Vec<FlowId> {
    a.iter().copied().filter(|other| Some(*other) != flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[usize]) -> Vec<FlowId> {
        ids.iter().map(|id| FlowId::new(*id)).collect()
    }

    #[test]
    fn sets_are_ascending_lists() {
        let (a, b) = (set(&[1, 3, 4, 7]), set(&[0, 3, 5, 7, 9]));
        assert_eq!(intersection(&a, &b), set(&[3, 7]));
        assert_eq!(difference(&a, &b), set(&[1, 4]));
        assert_eq!(difference(&b, &a), set(&[0, 5, 9]));
        assert_eq!(intersection(&a, &[]), set(&[]));
        assert_eq!(without(&a, Some(FlowId::new(4))), set(&[1, 3, 7]));
    }
}
