//! Results from one process to another: what several parts of a result share is written out for each of them.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::model::{FlowId, ServerId};
use crate::Curve;

pub(super) fn serialize<T: Serialize, S: Serializer>(
    shared: &Arc<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    T::serialize(shared, serializer)
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<T>, D::Error> {
    T::deserialize(deserializer).map(Arc::new)
}

/// What crosses a path: from, to, arrivals.
pub(super) mod crossings {
    use super::{Arc, Curve, Deserialize, Deserializer, Serialize, Serializer, ServerId};

    type Crossings = Vec<(ServerId, ServerId, Arc<Curve>)>;

    pub(in super::super) fn serialize<S: Serializer>(
        crossings: &Crossings,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let each = crossings.iter().map(|(from, to, arrival)| (*from, *to, &**arrival));
        each.collect::<Vec<(ServerId, ServerId, &Curve)>>().serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Crossings, D::Error> {
        let each = Vec::<(ServerId, ServerId, Curve)>::deserialize(deserializer)?;
        Ok(each.into_iter().map(|(from, to, arrival)| (from, to, Arc::new(arrival))).collect())
    }
}

/// The same with the flows that share a part of the path.
pub(super) mod shared_crossings {
    use super::{Arc, Curve, Deserialize, Deserializer, FlowId, Serialize, Serializer, ServerId};

    type Crossings = Vec<(ServerId, ServerId, Vec<FlowId>, Arc<Curve>)>;
    type Borrowed<'a> = Vec<(ServerId, ServerId, &'a Vec<FlowId>, &'a Curve)>;

    pub(in super::super) fn serialize<S: Serializer>(
        crossings: &Crossings,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let each = crossings.iter().map(|(from, to, flows, curve)| (*from, *to, flows, &**curve));
        each.collect::<Borrowed<'_>>().serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Crossings, D::Error> {
        let each = Vec::<(ServerId, ServerId, Vec<FlowId>, Curve)>::deserialize(deserializer)?;
        let shared = |(from, to, flows, curve)| (from, to, flows, Arc::new(curve));
        Ok(each.into_iter().map(shared).collect())
    }
}
