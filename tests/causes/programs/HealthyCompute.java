/* SPDX-License-Identifier: BSD-2-Clause */
/* HealthyCompute.java: computes, and allocates a little. */
public class HealthyCompute {
	static double[] rotate(double[] v, double a) {
		return new double[] {v[0] * Math.cos(a) - v[1] * Math.sin(a), v[0] * Math.sin(a) + v[1] * Math.cos(a)};
	}

	static double length(double[] v) {
		return Math.sqrt(v[0] * v[0] + v[1] * v[1]) + Math.atan(v[0]);
	}

	static double weigh(double x) {
		return Math.exp(-x) + Math.log(1 + x);
	}

	public static void main(String[] arguments) {
		double sum = 0;
		for (int i = 0; i < 12000000; i++)
			sum += weigh(length(rotate(new double[] {i % 100, 1}, i)));
		System.out.println(sum);
	}
}
