//! How counts follow a parameter: from the study's laws to the model, and in words.

use carom_study::count::{self, Fit, Law, Model};

use super::model::{CountLaw, CountParameter, CountRegression, CurvePoint, LawKind};
use crate::{
    diff::count::{
        basis,
        words::{amount, change, label, legend, marked, probability},
    },
    model::Real,
    text::page::{Page, Style},
    words,
};

/// Points of a curve on the page.
const CURVE: usize = 60;

const NAME: usize = 24;
const VALUE: usize = 11;
const LAW: usize = 40;

/// The study's regression as the model has it.
pub fn regression(found: &count::Regression) -> CountRegression {
    let parameter = |each: &count::Parameter| CountParameter {
        name: each.name.clone(),
        values: each.values.iter().copied().map(Real).collect(),
    };
    CountRegression {
        parameters: found.parameters.iter().map(parameter).collect(),
        laws: found.laws.iter().map(law).collect(),
    }
}

fn law(found: &Law) -> CountLaw {
    let fit = found.fit.as_ref();
    let (low, high) = found.range();
    CountLaw {
        name: found.quantity.name().into(),
        unit: found.quantity.unit().into(),
        basis: basis(found.quantity),
        parameter: found.parameter.clone(),
        depends: found.depends,
        model: fit.map(|fit| kind(fit.model)),
        coefficients: fit.map_or_else(Vec::new, |fit| fit.coefficients.iter().copied().map(Real).collect()),
        formula: fit.map(|fit| formula(fit, &found.parameter, found.quantity.unit())),
        r_squared: fit.map(|fit| Real(fit.r_squared)),
        p_adjusted: Real(found.corrected),
        first: Real(found.mean_at(low)),
        last: Real(found.mean_at(high)),
        points: found.points.iter().map(|(x, y)| [Real(*x), Real(*y)]).collect(),
        curve: found
            .curve(CURVE)
            .into_iter()
            .map(|(x, at)| CurvePoint {
                at: Real(x),
                estimate: Real(at.value),
                low: Real(at.low),
                high: Real(at.high),
            })
            .collect(),
    }
}

const fn kind(model: Model) -> LawKind {
    match model {
        Model::Constant => LawKind::Constant,
        Model::Linear => LawKind::Linear,
        Model::Logarithmic => LawKind::Logarithmic,
        Model::Power => LawKind::Power,
        Model::Exponential => LawKind::Exponential,
        Model::Quadratic => LawKind::Quadratic,
    }
}

/// `120 k + 1.02 M n`, `38.1 ms × n^-0.58`, `4.00 × exp(0.2 n)`
fn formula(fit: &Fit, x: &str, unit: &str) -> String {
    let size = |value: f64| {
        let text = small(value.abs(), unit);
        if value < 0.0 { format!("-{text}") } else { text }
    };
    let plus = |value: f64, of: &str| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!(" {sign} {} {of}", small(value.abs(), unit))
    };
    match (fit.model, fit.coefficients.as_slice()) {
        (Model::Linear, [a, b]) => format!("{}{}", size(*a), plus(*b, x)),
        (Model::Logarithmic, [a, b]) => format!("{}{}", size(*a), plus(*b, &format!("ln {x}"))),
        (Model::Quadratic, [a, b, c]) => format!("{}{}{}", size(*a), plus(*b, x), plus(*c, &format!("{x}²"))),
        (Model::Power, [a, b]) => format!("{} × {x}^{b:.2}", size(*a)),
        (Model::Exponential, [a, b]) => format!("{} × exp({b:.3} {x})", size(*a)),
        (_, [a, ..]) => size(*a),
        _ => String::new(),
    }
}

/// As an amount, but with the digits of what is less than 10 and has no unit.
fn small(value: f64, unit: &str) -> String {
    if matches!(unit, "s" | "bytes") || value >= 9.995 || value == 0.0 {
        amount(value, unit)
    } else {
        format!("{value:.2}")
    }
}

/// ``As `n` goes from 1 to 32: instructions 1024 times (power law, R² 1.00), time 31.2 times (…). 9 of 17 events follow it.``
pub fn verdict(regression: &CountRegression) -> String {
    regression
        .parameters
        .iter()
        .map(|parameter| of_parameter(regression, parameter))
        .collect::<Vec<_>>()
        .join(" ")
}

fn of_parameter(regression: &CountRegression, parameter: &CountParameter) -> String {
    /// More laws than these are counted.
    const NAMED: usize = 3;
    let laws: Vec<&CountLaw> = regression.laws.iter().filter(|law| law.parameter == parameter.name).collect();
    let mut following: Vec<&&CountLaw> = laws.iter().filter(|law| law.depends).collect();
    let (first, last) = (parameter.values.first(), parameter.values.last());
    let [first, last] = [first, last].map(|value| value.map_or(f64::NAN, |value| value.0));
    let range = format!("As `{}` goes from {first} to {last}", parameter.name);
    if following.is_empty() {
        return format!("{range}, no event follows it by more than chance.");
    }
    following.sort_by_key(|law| match law.name.as_str() {
        "time" => 0,
        "instructions" => 1,
        _ => 2,
    });
    let told = |law: &&&CountLaw| {
        let r_squared = law.r_squared.map_or(f64::NAN, |r| r.0);
        format!(
            "{} {} ({}, R² {r_squared:.2})",
            label(&law.name),
            by(law),
            law.model.map_or("", LawKind::words)
        )
    };
    let named: Vec<String> = following.iter().take(NAMED).map(told).collect();
    format!(
        "{range}: {}. {} of {} follow it.",
        words::sentence_list(&named),
        following.len(),
        words::count(laws.len(), "event")
    )
}

/// From the first value of the parameter to the last: `3.1 times`.
fn by(law: &CountLaw) -> String {
    if law.first.0 == 0.0 { "from 0".into() } else { change(law.last.0 / law.first.0 - 1.0) }
}

/// A table for each parameter: what follows it, and what does not in one line.
pub fn print(page: &mut Page, regression: &CountRegression) {
    for parameter in &regression.parameters {
        let others = if regression.parameters.len() > 1 { ", the others at their first value" } else { "" };
        let bases = regression.laws.iter().map(|law| law.basis);
        page.heading(&format!("By {}{others} {}", parameter.name, legend(bases)));
        page.plain("  ").cell(Style::Dim, "", NAME);
        page.cell(Style::Dim, "at first", VALUE).cell(Style::Dim, "at last", VALUE);
        page.cell(Style::Dim, "law", LAW).cell(Style::Dim, "R²", 8).put(Style::Dim, "p").end();
        let of = |law: &&CountLaw| law.parameter == parameter.name;
        let (following, others): (Vec<_>, Vec<_>) =
            regression.laws.iter().filter(of).partition(|law| law.depends);
        for law in following {
            row(page, law);
        }
        if !others.is_empty() {
            let names: Vec<String> = others.iter().map(|law| label(&law.name)).collect();
            page.indented(
                Style::Dim,
                2,
                "",
                &format!("do not follow it by more than chance: {}", names.join(", ")),
            );
        }
    }
    let note = "The law is the one of six that fits best by Akaike's corrected criterion; p is that of the F test against no dependence, \
                corrected for the number of laws and events.";
    page.indented(Style::Dim, 2, "", note);
}

fn row(page: &mut Page, law: &CountLaw) {
    page.plain("  ").cell(Style::Cyan, &marked(&law.name, law.basis), NAME - 1).plain(" ");
    for value in [law.first, law.last] {
        page.cell(Style::Plain, &amount(value.0, &law.unit), VALUE);
    }
    page.cell(Style::Bold, law.formula.as_deref().unwrap_or_default(), LAW);
    page.cell(Style::Plain, &law.r_squared.map_or_else(String::new, |r| format!("{:.3}", r.0)), 8);
    page.plain(&probability(law.p_adjusted.0)).end();
}
