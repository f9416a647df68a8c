//! Conversions from the messages of entities to the messages that contain them.

use crate::v1::{self, entity::Entity as Kind};

macro_rules! into_entity {
    ($($message:ident)*) => {$(
        impl From<v1::$message> for Kind {
            fn from(message: v1::$message) -> Self {
                Self::$message(message)
            }
        }

        impl From<v1::$message> for v1::Entity {
            fn from(message: v1::$message) -> Self {
                Self { entity: Some(message.into()) }
            }
        }
    )*};
}

into_entity! {
    ExternEntry
    TableEntry
    ActionProfileMember
    ActionProfileGroup
    MeterEntry
    DirectMeterEntry
    CounterEntry
    DirectCounterEntry
    PacketReplicationEngineEntry
    ValueSetEntry
    RegisterEntry
    DigestEntry
}
