//! Match-action tables that packets may write: storage, synchronisation, memory and cache models.
