//! The report: model, terminal text, HTML, JSON, CSV.
