// The legs of a passage. Runs in an isolate of its own, without files, tools and network.
import type { SkillRunContext } from "everthink";
import { course, nauticalMiles, type Place } from "./great-circle.ts";

interface Wish {
  readonly harbours?: readonly string[];
  readonly knots?: number;
}

export default function run({ harbours = [], knots = 5 }: Wish, ctx: SkillRunContext) {
  const known = JSON.parse(ctx.files["references/harbours.json"] ?? "{}") as Record<string, Place>;
  const places = harbours.map((name) => {
    const place = known[name];
    if (place === undefined) throw new Error(`"${name}" is not known. Known: ${Object.keys(known).join(", ")}.`);
    return { name, place };
  });
  if (places.length < 2 || !(knots > 0)) throw new Error("A passage has two harbours or more, and a speed.");
  const legs = places.slice(1).map(({ name, place }, index) => {
    const from = places[index] ?? { name, place };
    const miles = nauticalMiles(from.place, place);
    return {
      from: from.name,
      to: name,
      miles: rounded(miles),
      course: course(from.place, place),
      hours: rounded(miles / knots)
    };
  });
  const total = legs.reduce((sum, { miles }) => sum + miles, 0);
  return { legs, knots, totalMiles: rounded(total), totalHours: rounded(total / knots) };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
