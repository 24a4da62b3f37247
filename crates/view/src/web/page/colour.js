// Colour scales that are even in lightness (OKLCH, Ottosson 2020): order survives colour blindness and print.

function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** Bytes of the nearest colour of this lightness and hue that a screen can show. */
function screenColour(lightness, chroma, hue) {
  let rgb = oklch(lightness, chroma, hue);
  while (chroma > 0 && rgb.some((part) => part < -0.001 || part > 1.001)) {
    chroma -= 0.004;
    rgb = oklch(lightness, Math.max(0, chroma), hue);
  }
  return rgb.map((part) => {
    const linear = Math.max(0, Math.min(1, part));
    return Math.round(255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055));
  });
}

const STEPS = 256;
// From little to much. The hue moves a little, so that neighbouring steps differ in more than lightness.
const HUES = { all: [205, 300], true: [215, 262], false: [90, 35] };

/** [r, g, b] for 0 (little) to 1 (much), away from the page's background. */
function scale(kind, dark) {
  const [from, to] = HUES[kind];
  const table = Array.from({ length: STEPS }, (_, step) => {
    const t = step / (STEPS - 1);
    const lightness = dark ? 0.4 + 0.53 * t : 0.88 - 0.58 * t;
    const chroma = 0.035 + 0.12 * Math.sin(Math.PI * (0.06 + 0.8 * (dark ? 1 - t : t)));
    return screenColour(lightness, chroma, dark ? to + (from - to) * t : from + (to - from) * t);
  });
  return (t) => table[Math.max(0, Math.min(STEPS - 1, Math.round(t * (STEPS - 1))))];
}

const isDark = () => {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
