//! The part of the format that carom writes. Names are those of the standard, in its order.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::Real;

/// Where the schema is.
pub const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
pub struct Log {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub version: &'static str,
    pub runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub tool: Tool,
    pub invocations: [Invocation; 1],
    pub original_uri_base_ids: BTreeMap<&'static str, Artifact>,
    pub results: Vec<Outcome>,
}

#[derive(Serialize)]
pub struct Tool {
    pub driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    pub name: &'static str,
    pub version: &'static str,
    pub information_uri: &'static str,
    pub rules: Vec<Described>,
}

/// A rule.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Described {
    pub id: &'static str,
    pub name: &'static str,
    pub short_description: Message,
    pub full_description: Message,
    pub help_uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Invocation {
    pub execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub struct Notification {
    pub level: Level,
    pub message: Message,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Warning,
    Note,
}

#[derive(Serialize)]
pub struct Message {
    pub text: String,
}

/// A `result`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub rule_id: &'static str,
    pub rule_index: usize,
    pub level: Level,
    pub rank: Real,
    pub message: Message,
    pub locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_locations: Vec<Location>,
    pub partial_fingerprints: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    pub physical_location: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logical_locations: Vec<Logical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Physical {
    pub artifact_location: Artifact,
    pub region: Region,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Region {
    pub start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Logical {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}
