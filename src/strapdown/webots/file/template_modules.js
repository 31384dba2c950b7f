// Modules that templates may import, with the functions of the reference manual of Webots.
"use strict";
var console = Object.fromEntries(["log", "warn", "debug", "error", "info"].map(n => [n, () => {}]));

var wbfile = new Proxy({}, {
  get: (_, name) => { throw new Error(`wbfile.${String(name)} is not available: no files are read`); }
});

var __modules = {};

__modules.wbutility = (() => {
  const has = names => v => typeof v === "object" && v !== null && names.every(n => n in v);
  const isVector2 = has(["x", "y"]), isVector3 = has(["x", "y", "z"]);
  return {
    assert: () => {}, error: () => {}, info: () => {},
    deepCopy: v => JSON.parse(JSON.stringify(v)),
    degreesToRadians: a => a * Math.PI / 180,
    radiansToDegrees: a => a * 180 / Math.PI,
    isScalar: s => typeof s === "number",
    isVector2, isVector3,
    isAxisAngle: has(["x", "y", "z", "a"]),
    isQuaternion: has(["w", "x", "y", "z"]),
    isMatrix3: has([..."012345678"]),
    isArrayOfPoints: (array, dim) =>
      Array.isArray(array) && array.every(dim === 2 ? isVector2 : isVector3),
  };
})();

__modules.wbrandom = (() => {
  const modulus = 2 ** 24;
  let state = 0;
  const next = () => (state = (1140671485 * state + 12820163) % modulus);
  return {
    seed: s => { state = s; },
    real: (min, max) => {
      if (min === undefined) [min, max] = [0, 1];
      else if (max === undefined) [min, max] = [0, min];
      return min + next() * (max - min) / (modulus - 1);
    },
    integer: (min, max) => {
      if (min === undefined) [min, max] = [0, modulus - 1];
      else if (max === undefined) [min, max] = [1, min];
      return min + next() % (1 + max - min);
    },
  };
})();

const __vectors = (keys) => {
  const map = f => Object.fromEntries(keys.map(k => [k, f(k)]));
  const sum = f => keys.reduce((total, k) => total + f(k), 0);
  const norm = v => Math.sqrt(sum(k => v[k] * v[k]));
  const minus = (a, b) => map(k => a[k] - b[k]);
  const multiply = (v, s) => map(k => v[k] * s);
  return {
    minus, multiply, norm,
    add: (a, b) => map(k => a[k] + b[k]),
    equal: (a, b) => keys.every(k => a[k] === b[k]),
    distance: (a, b) => norm(minus(a, b)),
    dot: (a, b) => sum(k => a[k] * b[k]),
    normalize: v => multiply(v, 1 / norm(v)),
  };
};

__modules.wbvector2 = {
  ...__vectors(["x", "y"]),
  angle: (a, b) => Math.atan2(a.y - b.y, a.x - b.x),
  cross: (a, b) => a.x * b.y - a.y * b.x,
  intersection: (p1, p2, p3, p4) => {
    const {minus, cross} = __modules.wbvector2;
    const r = minus(p2, p1), s = minus(p4, p3), area = cross(r, s);
    const t = cross(minus(p3, p1), s) / area, u = cross(minus(p3, p1), r) / area;
    if (area === 0 || t < 0 || t > 1 || u < 0 || u > 1) return null;
    return {x: p1.x + t * r.x, y: p1.y + t * r.y};
  },
};

__modules.wbvector3 = {
  ...__vectors(["x", "y", "z"]),
  cross: (a, b) => ({x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x}),
};

__modules.wbrotation = (() => {
  const {cross, dot, multiply, norm, add} = __modules.wbvector3;
  const normalize = r => {
    const length = norm(r), turn = 2 * Math.PI;
    const axis = length === 0 ? {x: 0, y: 0, z: 1} : multiply(r, 1 / length);
    return {...axis, a: r.a - turn * Math.round(r.a / turn)};
  };
  const toQuaternion = r => {
    const {x, y, z, a} = normalize(r), s = Math.sin(a / 2);
    return {w: Math.cos(a / 2), x: x * s, y: y * s, z: z * s};
  };
  const fromQuaternion = q => {
    const sine = norm(q);
    if (sine === 0) return {x: 0, y: 0, z: 1, a: 0};
    return {...multiply(q, 1 / sine), a: 2 * Math.atan2(sine, q.w)};
  };
  const product = (p, q) => {
    const v = add(add(multiply(q, p.w), multiply(p, q.w)), cross(p, q));
    return {w: p.w * q.w - dot(p, q), ...v};
  };
  const rotateVector3ByQuaternion = (q, v) => {
    const t = multiply(cross(q, v), 2);
    return add(add(v, multiply(t, q.w)), cross(q, t));
  };
  const rotateVector3ByRotation = (r, v) => rotateVector3ByQuaternion(toQuaternion(r), v);
  const toMatrix3 = r => {
    const [x, y, z] = [{x: 1, y: 0, z: 0}, {x: 0, y: 1, z: 0}, {x: 0, y: 0, z: 1}].map(
      axis => rotateVector3ByRotation(r, axis));
    return [x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z];
  };
  const fromMatrix3 = m => {
    const w = Math.sqrt(Math.max(0, 1 + m[0] + m[4] + m[8])) / 2;
    const size = (a, b, c) => Math.sqrt(Math.max(0, 1 + a - b - c)) / 2;
    let x = size(m[0], m[4], m[8]), y = size(m[4], m[8], m[0]), z = size(m[8], m[0], m[4]);
    if (w > 1e-6) {
      x *= Math.sign(m[7] - m[5]); y *= Math.sign(m[2] - m[6]); z *= Math.sign(m[3] - m[1]);
    } else if (x >= y && x >= z) {
      y *= Math.sign(m[1] + m[3]); z *= Math.sign(m[2] + m[6]);
    } else if (y >= z) {
      x *= Math.sign(m[1] + m[3]); z *= Math.sign(m[5] + m[7]);
    } else {
      x *= Math.sign(m[2] + m[6]); y *= Math.sign(m[5] + m[7]);
    }
    return fromQuaternion({w, x, y, z});
  };
  return {
    normalize, toQuaternion, fromQuaternion, toMatrix3, fromMatrix3,
    rotateVector3ByQuaternion, rotateVector3ByRotation,
    equal: (a, b) => ["x", "y", "z", "a"].every(k => a[k] === b[k]),
    isIdentity: r => Math.abs(normalize(r).a) < 1e-10,
    combine: (a, b) => fromQuaternion(product(toQuaternion(a), toQuaternion(b))),
    rotateVector3ByMatrix3: (m, v) => ({
      x: m[0] * v.x + m[1] * v.y + m[2] * v.z,
      y: m[3] * v.x + m[4] * v.y + m[5] * v.z,
      z: m[6] * v.x + m[7] * v.y + m[8] * v.z,
    }),
  };
})();

__modules.wbgeometry = (() => {
  const {wbvector2, wbvector3} = __modules;
  // Uniform cubic B-spline that begins and ends at the first and the last point.
  const spline = ({add, minus, multiply}) => (points, subdivision) => {
    if (points.length < 2 || subdivision < 1) return points;
    const mirrored = (p, q) => minus(multiply(p, 2), q), n = points.length;
    const all = [mirrored(points[0], points[1]), ...points,
                 mirrored(points[n - 1], points[n - 2])];
    const curve = [];
    for (let i = 0; i + 3 < all.length; ++i)
      for (let j = 0; j < subdivision; ++j) {
        const t = j / subdivision, s = 1 - t;
        const weights = [s ** 3, 3 * t ** 3 - 6 * t * t + 4, 3 * s ** 3 - 6 * s * s + 4, t ** 3];
        curve.push(weights.map((w, k) => multiply(all[i + k], w / 6)).reduce(add));
      }
    return [...curve, points[n - 1]];
  };
  return {
    bSpline2: spline(wbvector2),
    bSpline3: spline(wbvector3),
    // The last point is the first one again.
    circle: (radius, div, center, shift) => Array.from({length: div + 1}, (_, i) => ({
      x: radius * Math.cos(2 * Math.PI * i / div + shift) + center.x,
      y: radius * Math.sin(2 * Math.PI * i / div + shift) + center.y,
    })),
    isPoint2InPolygon: (p, polygon) => polygon.reduce((inside, a, i) => {
      const b = polygon[(i + polygon.length - 1) % polygon.length];
      const crosses = (a.y > p.y) !== (b.y > p.y)
        && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x;
      return crosses ? !inside : inside;
    }, false),
    findClosestPoint2InArray: (reference, points) => points.reduce((best, p) =>
      wbvector2.distance(reference, p) < wbvector2.distance(reference, best) ? p : best),
    isPoint2ArrayClockwise: points => points.reduce((area, p, i) => {
      const q = points[(i + 1) % points.length];
      return area + (q.x - p.x) * (q.y + p.y);
    }, 0) < 0,
  };
})();

const __import = address => {
  const name = address.replace(/^.*\//, "").replace(/\.m?js$/, "");
  if (Object.hasOwn(__modules, name)) return __modules[name];
  throw new Error(`module '${address}' is not available`);
};
