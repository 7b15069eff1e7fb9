/* SPDX-License-Identifier: BSD-2-Clause */
/* Reflect.java: a method is looked up for each call of it. */
public class Reflect {
	public int value = 3;
	public int getValue() { return value; }
	public int getA() { return 1; }
	public int getB() { return 1; }
	static Object property(Object bean, String name) throws Exception {
		return bean.getClass().getMethod("get" + name).invoke(bean);
	}

	public static void main(String[] args) throws Exception {
		Reflect bean = new Reflect();
		long sum = 0;
		for (int i = 0; i < 8_000_000; i++)
			sum += (Integer) property(bean, "Value");
		System.out.println(sum);
	}
}
