use crate::code::Memory;
use crate::registers::mask;

/// Stores that a walk can remember. With more of them memory becomes unknown.
const CAPACITY: usize = 128;

/// The program's memory under the stores of the walk.
pub(super) struct Overlay<'m, M> {
    beneath: &'m M,
    stores: [Store; CAPACITY],
    count: usize,
    /// True when anything may have been stored anywhere before the remembered stores.
    opaque: bool,
}

#[derive(Clone, Copy)]
struct Store {
    addr: u64,
    bytes: u32,
    /// Little-endian, up to 8 bytes; `None` where the stored value is unknown.
    value: Option<u64>,
}

impl<'m, M: Memory> Overlay<'m, M> {
    pub fn new(beneath: &'m M) -> Self {
        let nothing = Store { addr: 0, bytes: 0, value: None };
        Self { beneath, stores: [nothing; CAPACITY], count: 0, opaque: false }
    }

    /// What a load of 1 to 8 bytes would see, zero-extended.
    pub fn load(&self, addr: u64, bytes: u32) -> Option<u64> {
        let bytes = bytes.clamp(1, 8);
        let mut value = 0;
        let mut missing = (1u32 << bytes) - 1;
        let stores = self.stores.get(..self.count).unwrap_or_default();
        for store in stores.iter().rev() {
            // How far the store begins behind the load, and the load behind the store.
            let (behind, ahead) = (store.addr.wrapping_sub(addr), addr.wrapping_sub(store.addr));
            if behind >= u64::from(bytes) && ahead >= u64::from(store.bytes) {
                continue;
            }
            if ahead == 0 && store.bytes >= bytes && missing == (1 << bytes) - 1 {
                return store.value.map(|stored| stored & mask(bytes));
            }
            for byte in 0..bytes {
                let position = ahead.wrapping_add(u64::from(byte));
                if missing >> byte & 1 == 1 && position < u64::from(store.bytes) {
                    let stored = store.value? >> (position * 8) & 0xff;
                    value |= stored << (byte * 8);
                    missing &= !(1 << byte);
                }
            }
            if missing == 0 {
                return Some(value);
            }
        }
        if self.opaque {
            return None;
        }
        let mut below = [0; 8];
        if self.beneath.read(addr, below.get_mut(..bytes as usize)?) < bytes as usize {
            return None;
        }
        let below = u64::from_le_bytes(below);
        for byte in (0..bytes).filter(|byte| missing >> byte & 1 == 1) {
            value |= below & 0xff << (byte * 8);
        }
        Some(value)
    }

    /// Remembers a store. Without an address it may have gone anywhere; a value only counts up to 8 bytes.
    pub fn store(&mut self, addr: Option<u64>, bytes: u32, value: Option<u64>) {
        match (addr, self.stores.get_mut(self.count)) {
            (Some(addr), Some(slot)) => {
                let value = value.filter(|_| bytes <= 8);
                *slot = Store { addr, bytes, value };
                self.count += 1;
            }
            _ => self.clobber(),
        }
    }

    /// Anything may have been stored anywhere.
    pub fn clobber(&mut self) {
        self.count = 0;
        self.opaque = true;
    }
}
