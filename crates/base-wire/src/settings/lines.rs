use std::{collections::BTreeMap, fmt, str::FromStr};

use super::Section;

/// Settings as lines of a name and a value.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    values: BTreeMap<String, String>,
    /// The section that is being written or read.
    section: Option<&'static str>,
}

/// Why a text is not valid settings of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// It is of this version.
    Version(u32),
    /// A setting is missing.
    Missing(String),
    /// A setting is unknown.
    Unknown(String),
    /// A setting has an invalid value.
    Value {
        /// Its name.
        name: String,
        /// The value.
        value: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "settings of version {version}"),
            Self::Missing(name) => write!(f, "setting `{name}` is missing"),
            Self::Unknown(name) => write!(f, "setting `{name}` is not known"),
            Self::Value { name, value } => write!(f, "setting `{name}`: `{value}` means nothing"),
        }
    }
}

impl std::error::Error for SettingsError {}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.iter().try_for_each(|(name, value)| writeln!(f, "{name} {value}"))
    }
}

impl Lines {
    pub(super) fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut values = BTreeMap::new();
        for line in text.lines() {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            if values.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(SettingsError::Value { name: name.into(), value: value.into() });
            }
        }
        Ok(Self { values, section: None })
    }

    /// A setting of the current section, or of the session.
    pub(super) fn add(&mut self, name: &str, value: impl fmt::Display) {
        self.values.insert(self.full(name), value.to_string());
    }

    pub(super) fn add_section<S: Section>(&mut self, section: Option<&S>) {
        if let Some(section) = section {
            self.section = Some(S::NAME);
            section.write(self);
            self.section = None;
        }
    }

    pub(super) fn section<S: Section>(&mut self) -> Result<Option<S>, SettingsError> {
        let is_of = |name: &String| name.split_once('.').is_some_and(|(section, _)| section == S::NAME);
        if !self.values.keys().any(is_of) {
            return Ok(None);
        }
        self.section = Some(S::NAME);
        let section = S::read(self);
        self.section = None;
        section.map(Some)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(&self.full(name))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, SettingsError> {
        let name = self.full(name);
        self.values.remove(&name).ok_or(SettingsError::Missing(name))
    }

    pub(super) fn number<N: FromStr>(&mut self, name: &str) -> Result<N, SettingsError> {
        let value = self.text(name)?;
        value.parse().map_err(|_| self.bad(name, value))
    }

    /// One of `all`, by its name.
    pub(super) fn choice<T: Copy, const N: usize>(
        &mut self,
        name: &str,
        all: [T; N],
        of: impl Fn(T) -> &'static str,
    ) -> Result<T, SettingsError> {
        let value = self.text(name)?;
        all.into_iter().find(|&each| of(each) == value).ok_or_else(|| self.bad(name, value))
    }

    /// The error for this invalid value of a setting.
    pub(super) fn bad(&self, name: &str, value: String) -> SettingsError {
        SettingsError::Value { name: self.full(name), value }
    }

    /// Everything has been read.
    pub(super) fn end(self) -> Result<(), SettingsError> {
        self.values.into_keys().next().map_or(Ok(()), |name| Err(SettingsError::Unknown(name)))
    }

    fn full(&self, name: &str) -> String {
        self.section.map_or_else(|| name.to_owned(), |section| format!("{section}.{name}"))
    }
}
