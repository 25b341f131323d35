// Distance and first course between two places on the globe.

export type Place = readonly [latitude: number, longitude: number];

const EARTH_RADIUS_MILES = 3_440.065;
const radians = (degrees: number) => (degrees * Math.PI) / 180;

export function nauticalMiles([latitude, longitude]: Place, [toLatitude, toLongitude]: Place): number {
  const north = Math.sin(radians(toLatitude - latitude) / 2) ** 2;
  const east = Math.sin(radians(toLongitude - longitude) / 2) ** 2;
  const half = north + Math.cos(radians(latitude)) * Math.cos(radians(toLatitude)) * east;
  return 2 * EARTH_RADIUS_MILES * Math.asin(Math.sqrt(half));
}

export function course([latitude, longitude]: Place, [toLatitude, toLongitude]: Place): number {
  const [from, to, turn] = [radians(latitude), radians(toLatitude), radians(toLongitude - longitude)];
  const north = Math.cos(from) * Math.sin(to) - Math.sin(from) * Math.cos(to) * Math.cos(turn);
  const degrees = (Math.atan2(Math.sin(turn) * Math.cos(to), north) * 180) / Math.PI;
  return (Math.round(degrees) + 360) % 360;
}
