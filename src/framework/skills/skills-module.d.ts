// The types of the imports that `skillsImport()` resolves.
declare module "everthink:skills" {
  const source: import("everthink/skills").SkillSource;
  export default source;
}

declare module "everthink:skills/*" {
  const source: import("everthink/skills").SkillSource;
  export default source;
}

declare module "agents:skills" {
  const source: import("everthink/skills").SkillSource;
  export default source;
}

declare module "agents:skills/*" {
  const source: import("everthink/skills").SkillSource;
  export default source;
}
